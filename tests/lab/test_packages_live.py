"""The lab's package repository and registry as a host uses them: every step is real apt, dpkg and Docker work."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from practice_lab import Qops

from qops.lab import images, keys, scenario
from qops.lab.docker import Docker
from qops.lab.images import Base

pytestmark = [pytest.mark.lab, pytest.mark.slow]

OLD, NEW = "580.126.20", "580.159.04"
NEXT = "595.71.05"
APT = "DEBIAN_FRONTEND=noninteractive apt-get -q -y"
# No driver at all, as on a bare machine.
BARE = (
    f"rm -f /etc/qops-lab/dkms-fails; apt-mark unhold '*nvidia*' >/dev/null 2>&1; dpkg --configure -a >/dev/null 2>&1; "
    f"{APT} purge '*nvidia*' libcuda1 libnvcuvid1 >/dev/null 2>&1; "
    "echo none >/var/lib/qops-lab/driver-library; echo none >/var/lib/qops-lab/driver-module; "
    "systemctl restart qops-lab-hardware"
)


class Host:
    """The one host of the lab, by SSH."""

    def __init__(self, lab: Qops, address: str) -> None:
        self.ssh = keys.ssh(lab.place, address, (), ("-o", "LogLevel=ERROR"))

    def run(self, command: str) -> tuple[int, str]:
        done = subprocess.run([*self.ssh, command], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def __call__(self, command: str) -> str:
        status, said = self.run(command)
        assert status == 0, f"{command}\n{said}"
        return said.strip()

    def driver(self, release: str) -> None:
        """Make sure that one release is installed as a whole and loaded, as the test before may have left it."""
        if self.states().get("nvidia-open") == f"ii {release}-1" and self.run("nvidia-smi")[0] == 0:
            return
        self(
            f"{BARE}; {APT} install linux-headers-amd64 nvidia-driver-pinning-{release} && {APT} install nvidia-open "
            "&& modprobe nvidia && systemctl restart nvidia-persistenced"
        )
        assert self.smi() == release

    def smi(self) -> str:
        return self("nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1")

    def reload(self) -> None:
        self("systemctl stop nvidia-persistenced && rmmod nvidia_uvm nvidia && modprobe nvidia")

    def states(self) -> dict[str, str]:
        _, shown = self.run("dpkg-query -W -f '${Package} ${db:Status-Abbrev} ${Version}\\n' '*nvidia*' libcuda1")
        rows = [row.split() for row in shown.splitlines()]
        return {row[0]: f"{row[1]} {row[2]}" for row in rows if len(row) == 3}


@pytest.fixture(scope="module")
def stocked_yaml(tmp_path_factory: pytest.TempPathFactory) -> str:
    names = [name for name in scenario.BASES if images.present(Docker(), Base(name))]
    path = tmp_path_factory.mktemp("scenario") / "stocked.yaml"
    content = {
        "name": "stocked",
        "about": "One host for the tests of packages.",
        "class": "hgx",
        "hosts": [{"name": "stocked", "base": (names or ["debian12"])[0], "docker": True}],
        "hardware": dict(scenario.load("hgx8").hardware),
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


@pytest.fixture(scope="module")
def lab(qops_lab: Qops, stocked_yaml: str) -> Iterator[Qops]:
    qops_lab("up", stocked_yaml)
    yield qops_lab


@pytest.fixture(scope="module")
def host(lab: Qops) -> Host:
    (known,) = json.loads(lab("status", "--format", "json"))["hosts"]
    found = Host(lab, known["address"])
    found("apt-get update -q")
    return found


def services(lab: Qops) -> list[dict[str, object]]:
    return list(json.loads(lab("status", "--format", "json"))["services"])


def containers(lab: Qops) -> list[str]:
    shown = subprocess.run(
        ["docker", "ps", "-aq", "--filter", f"label=dev.qops.lab={lab.name}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(shown.stdout.split())


def test_up_again_leaves_the_services_alone_and_status_shows_them(lab: Qops, stocked_yaml: str):
    before = containers(lab)
    lab("up", stocked_yaml)
    assert containers(lab) == before
    assert [one["status"] for one in services(lab)] == ["running", "running"]
    assert "http://registry.lab.internal:5000/" in lab("status")


def test_a_tampered_repository_is_refused(lab: Qops, host: Host):
    name = f"qops-{lab.name}-{services(lab)[0]['service']}"

    def inside(command: str) -> None:
        subprocess.run(["docker", "exec", "-w", "/srv/packages/cuda", name, "sh", "-c", command], check=True)

    again = "rm -rf /var/lib/apt/lists/*; apt-get update"
    inside("cp InRelease good && sed -i 's/^Label: .*/Label: other/' InRelease")
    try:
        status, said = host.run(again)
        assert status == 100
        assert "BADSIG" in said or "not signed" in said or "Bad signature" in said
        inside("cp good InRelease && cp Packages index && sed -i 's/^Size: ./Size: 9/' Packages && gzip -k Packages -f")
        status, said = host.run(again)
        assert status == 100
        assert "Hash Sum mismatch" in said or "unexpected size" in said
        inside("mv index Packages && gzip -n -k -f Packages")
    finally:
        # Made from the same contents, so its digests differ at most in the compression: let it be made anew.
        subprocess.run(["docker", "rm", "-f", name], check=True, capture_output=True)
        lab("up")
    host("rm -rf /var/lib/apt/lists/*; apt-get update")


def test_an_installed_driver_works_once_its_module_is_loaded(host: Host):
    assert host.run(f"{BARE}; modprobe nvidia")[0] == 1
    host(f"{APT} install linux-headers-amd64 nvidia-driver-pinning-580 && {APT} install nvidia-open")
    assert "couldn't communicate with the NVIDIA driver" in host.run("nvidia-smi")[1]
    host("modprobe nvidia")
    assert host.smi() == NEW
    assert host("dkms status") == f"nvidia/{NEW}, 6.1.0-41-amd64, x86_64: installed"
    assert "stand-in of the qops lab" in host("dpkg-query -W -f '${Description}' nvidia-open")
    assert "libcuda.so.1" in host("ldconfig -p")
    # NVSwitches without a fabric manager, which is a package of its own.
    fabric = "nvidia-smi -q | grep -A 1 '^    Fabric' | tail -n 1"
    assert host(fabric).endswith("In Progress")
    host(f"{APT} install nvidia-fabricmanager earlyoom && systemctl enable --now nvidia-fabricmanager")
    assert host(fabric).endswith("Completed")


def test_the_toolkit_merges_dockers_configuration_and_describes_the_devices(host: Host):
    host.driver(NEW)
    host(f"{APT} install nvidia-container-toolkit=1.19.1-1 nvidia-container-toolkit-base=1.19.1-1")
    host("nvidia-ctk runtime configure --runtime=docker && systemctl restart docker")
    read = json.loads(host("cat /etc/docker/daemon.json"))
    assert read["insecure-registries"] == ["registry.lab.internal:5000"]
    assert read["runtimes"]["nvidia"] == {"args": [], "path": "nvidia-container-runtime"}
    assert "nvidia" in host("docker info --format '{{json .Runtimes}}'")
    spec = yaml.safe_load(host("cat /var/run/cdi/nvidia.yaml"))
    assert [one["name"] for one in spec["devices"]][-1] == "all"
    assert spec["devices"][0]["containerEdits"]["deviceNodes"] == [{"path": "/dev/nvidia0"}]
    listed = host("nvidia-ctk --quiet cdi list").splitlines()
    assert len(listed) == 17  # eight by number, eight by UUID, all
    assert "nvidia.com/gpu=7" in listed
    host(f"{APT} install nvidia-container-toolkit")
    assert "version 1.20.0" in host("nvidia-ctk --version")


def test_an_upgrade_without_a_reload_is_the_real_mismatch(host: Host, tmp_path: Path):
    host.driver(NEW)
    host("systemctl restart nvidia-persistenced")
    assert host.run("rmmod nvidia_uvm nvidia") == (1, "rmmod: ERROR: Module nvidia is in use\n")
    host(f"modprobe nvidia_uvm; {APT} install --purge nvidia-driver-pinning-595 && {APT} dist-upgrade")
    status, said = host.run("nvidia-smi")
    assert (status, said.splitlines()[0]) == (18, "Failed to initialize NVML: Driver/library version mismatch")
    evidence = tmp_path / "host.txt"
    evidence.write_text(
        f"$ nvidia-smi\n{said}\n" + host("cat $QOPS_ROOT/proc/driver/nvidia/version; dmesg | tail -n 20")
    )
    found = subprocess.run(
        [sys.executable, "-m", "qops", "diagnose", "--from", str(evidence), "--format", "json", "--exit-zero"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "driver-library-version-mismatch" in found.stdout, found.stderr
    host.reload()
    assert host.smi() == NEXT


def test_a_hold_keeps_the_driver_and_a_version_brings_it_back(host: Host):
    host.driver(NEXT)
    host(f"{APT} purge 'nvidia-driver-pinning-*'; apt-mark hold '*nvidia*' libcuda1 libnvcuvid1; {APT} dist-upgrade")
    assert host.states()["libnvidia-ml1"] == f"hi {NEXT}-1"
    host("apt-mark unhold '*nvidia*' libcuda1 libnvcuvid1")
    host(f"{APT} install nvidia-driver-pinning-{OLD} && {APT} --allow-downgrades dist-upgrade")
    assert host.states()["nvidia-kernel-open-dkms"] == f"ii {OLD}-1"
    host.reload()
    assert host.smi() == OLD


def test_a_module_that_does_not_build_leaves_what_dpkg_leaves(host: Host):
    host.driver(OLD)
    host(f"{APT} install --purge nvidia-driver-pinning-595; echo 'nvidia/595.*' >/etc/qops-lab/dkms-fails")
    status, said = host.run(f"{APT} dist-upgrade")
    assert status == 100
    assert "Error! Bad return status for module build on kernel: 6.1.0-41-amd64 (x86_64)" in said
    assert f"Consult /var/lib/dkms/nvidia/{NEXT}/build/make.log for more information." in said
    assert "post-installation script subprocess returned error exit status 10" in said
    states = host.states()
    assert states["nvidia-kernel-open-dkms"] == f"iF {NEXT}-1"
    assert states["nvidia-open"] == f"iU {NEXT}-1"
    assert host.run("systemctl restart qops-lab-hardware; nvidia-smi")[0] == 9  # the old module went with its package
    host("rm /etc/qops-lab/dkms-fails && dpkg --configure -a && modprobe nvidia")
    assert host.smi() == NEXT


def test_an_image_is_pulled_by_its_digest(lab: Qops, host: Host):
    (offered,) = [one["offers"] for one in services(lab) if one["service"] == "registry"]
    assert isinstance(offered, list)
    cuda, hello = (next(one for one in offered if f"/lab/{name}:" in one) for name in ("cuda", "hello"))
    assert (
        host(f"docker pull -q {hello} >/dev/null && docker run --rm --network none {hello}")
        == "hello from the qops lab"
    )
    host(f"docker pull -q {cuda}")
    config = json.loads(host(f"docker image inspect {cuda}"))[0]["Config"]
    assert "NVIDIA_REQUIRE_CUDA=cuda>=13.0" in config["Env"]
    assert config["Labels"]["org.opencontainers.image.version"] == "13.0.1"
    wrong = cuda[:-4] + ("0000" if not cuda.endswith("0000") else "1111")
    assert host.run(f"docker pull -q {wrong}")[0] != 0


def test_killed_at_any_point_the_services_come_up_and_go_away(tmp_path: Path, stocked_yaml: str):
    seed = random.randrange(10**8)
    chance = random.Random(seed)
    qops = Qops(tmp_path, f"kill-{seed}")  # the name tells the seed in every message
    for _ in range(2):
        process = qops.start("up", stocked_yaml)
        time.sleep(chance.uniform(0.3, 4))
        process.kill()
        process.communicate()
    qops("up", stocked_yaml)
    assert [one["status"] for one in services(qops)] == ["running", "running"]
    qops("down")
    assert containers(qops) == []
    processes = subprocess.run(["ps", "-eo", "stat=,args="], capture_output=True, text=True, check=True).stdout
    assert [line for line in processes.splitlines() if qops.name in line and not line.startswith("Z")] == []
    assert not qops.place.folder.exists()
