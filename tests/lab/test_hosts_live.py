"""Hosts that boot: one lab, up and used and broken, and one that is killed while it comes up."""

import json
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from practice_lab import Qops

pytestmark = [pytest.mark.lab, pytest.mark.slow]

FAULTS = "/etc/qops-lab/faults.json"


def on(tiny: Qops, command: str) -> str:
    return tiny("ssh", "tiny", "--", command).strip()


def faults_of(tiny: Qops) -> list[str]:
    (host,) = json.loads(tiny("status", "--format", "json"))["hosts"]
    return list(host["faults"])


def test_a_host_boots_and_answers(tiny: Qops):
    assert on(tiny, "systemctl is-system-running") == "running"
    assert on(tiny, "hostname; echo $QOPS_ROOT; python3 -c 'print(1)'").split() == [
        "tiny",
        "/var/lib/qops-lab/root",
        "1",
    ]
    assert "ITS GPUS ARE SIMULATED" in on(tiny, "cat /etc/motd")


def test_its_gpus_are_the_scenarios_also_after_a_fault(tiny: Qops):
    assert on(tiny, "nvidia-smi -L").startswith("GPU 0: NVIDIA GB10 (UUID: GPU-")
    assert on(tiny, "cat $QOPS_ROOT/proc/driver/nvidia/version").startswith("NVRM version: ")
    tiny("break", "kernel-upgrade-no-module", "tiny")
    assert on(tiny, "ls $QOPS_ROOT/proc/driver/nvidia || true") == ""
    tiny("mend", "tiny")
    assert on(tiny, "cat $QOPS_ROOT/proc/driver/nvidia/version").startswith("NVRM version: ")


def test_up_again_changes_nothing(tiny: Qops, tiny_yaml: str):
    on(tiny, "touch /root/mine")
    status, out, err = tiny.run("up", tiny_yaml)
    assert status == 0
    assert out.startswith("tiny\t")
    assert "anew" not in err
    assert on(tiny, "ls /root/mine") == "/root/mine"


def test_docker_runs_a_container_inside_a_host(tiny: Qops):
    made = (
        "mkdir -p /tmp/i/bin /tmp/i/lib /tmp/i/lib64 && cp /bin/sh /tmp/i/bin && cp /lib/*/libc.so.6 /tmp/i/lib && "
        "cp /lib64/ld-linux-*.so.* /tmp/i/lib64 && tar -C /tmp/i -c . | docker import - tiny >/dev/null && "
        "docker run --rm tiny /bin/sh -c 'echo inside'"
    )
    assert on(tiny, made) == "inside"


def test_what_is_written_outlasts_a_reboot_and_the_boot_id_does_not(tiny: Qops):
    on(tiny, "mkdir -p $QOPS_ROOT && echo kept >$QOPS_ROOT/kept")
    before = on(tiny, "cat /proc/sys/kernel/random/boot_id")
    tiny.run("ssh", "tiny", "--", "systemctl reboot")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        status, out, _ = tiny.run("ssh", "tiny", "--", "cat /proc/sys/kernel/random/boot_id $QOPS_ROOT/kept")
        if status == 0 and before not in out:
            break
        time.sleep(0.5)
    after, kept = out.split()
    assert after != before
    assert kept == "kept"


def test_ansible_reaches_it_with_the_inventory(tiny: Qops, tmp_path: Path):
    written = tmp_path / "lab.yml"
    written.write_text(tiny("inventory"))
    assert list(yaml.safe_load(written.read_text())["spark"]["hosts"]) == ["tiny"]
    ansible = shutil.which("ansible", path=f"{Path(__import__('sys').executable).parent}:/usr/bin")
    if ansible is None:
        pytest.skip("ansible is not installed: pip install ansible-core")
    done = subprocess.run(
        [ansible, "lab", "-i", str(written), "-m", "ping"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "SUCCESS" in done.stdout, done.stderr


def test_a_fault_is_planted_shown_and_mended(tiny: Qops):
    def shm() -> int:
        return int(on(tiny, "df -BM --output=size /dev/shm | tail -n 1").rstrip("M"))

    before = shm()
    assert "planted" in tiny("break", "shm-too-small", "tiny")
    assert "was planted already" in tiny("break", "shm-too-small", "tiny")
    tiny("break", "port-in-use", "tiny")
    tiny("break", "driver-library-version-mismatch", "tiny")
    assert faults_of(tiny) == ["driver-library-version-mismatch", "port-in-use", "shm-too-small"]
    assert shm() == 64
    assert on(tiny, "curl -s -o /dev/null -w '%{http_code}' http://localhost:8000/") == "200"
    assert sorted(json.loads(on(tiny, f"cat {FAULTS}"))) == faults_of(tiny)
    assert tiny("mend", "tiny", "port-in-use") == "tiny: port-in-use mended\n"
    assert on(tiny, "ss -Hltn 'sport = :8000'") == ""
    tiny("mend", "tiny")
    assert faults_of(tiny) == []
    assert shm() == before


@pytest.mark.parametrize("cause", ["container-toolkit-missing", "cuda-compat-lib-shadows-driver"])
def test_mending_leaves_the_configuration_as_it_was(tiny: Qops, cause: str):
    files = "find /etc /usr/local /usr/bin -type f -mmin -60 | grep -v qops-lab | sort | xargs md5sum"
    # The loader's cache is written anew by one of them, and is to be among the files before it too.
    on(tiny, "mkdir -p /etc/docker && echo '{}' >/etc/docker/daemon.json && ldconfig")
    before = on(tiny, files)
    tiny("break", cause, "tiny")
    tiny("mend", "tiny")
    assert on(tiny, files) == before


def test_wrong_names_are_told_the_right_ones(tiny: Qops):
    assert tiny.run("ssh", "nobody", "--", "true")[::2] == (
        2,
        "error: the lab has no host nobody\n  hint: its hosts: tiny\n",
    )
    status, _, err = tiny.run("break", "fabric-manager-not-running", "tiny")
    assert status == 2
    assert "it belongs to: hgx" in err


def listed(*arguments: str) -> list[str]:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True)
    return sorted(done.stdout.splitlines())


def traces(name: str) -> dict[str, list[str]]:
    """Return what the whole machine holds that a lab of this name could have left."""

    def ours(found: list[str]) -> list[str]:
        return [one for one in found if name in one or not one.startswith("qops-")]  # other labs come and go

    ps = subprocess.run(["ps", "-eo", "stat=,args="], capture_output=True, text=True, check=True).stdout.splitlines()
    # A lab's name is in the path of everything it runs outside its hosts. The dead wait for this machine's init.
    return {
        "containers": ours(listed("ps", "-a", "--format", "{{.Names}}")),
        "networks": ours(listed("network", "ls", "--format", "{{.Name}}")),
        "volumes": ours(listed("volume", "ls", "--format", "{{.Name}}")),
        "images": listed("images", "--format", "{{.Repository}}:{{.Tag}}"),
        "mounts": [line for line in Path("/proc/mounts").read_text().splitlines() if name in line],
        "processes": [line for line in ps if name in line and not line.startswith("Z")],
    }


def test_killed_at_any_point_it_comes_up_and_goes_away(tmp_path: Path, tiny_yaml: str):
    seed = random.randrange(10**8)
    chance = random.Random(seed)
    qops = Qops(tmp_path, f"kill-{seed}")  # the name tells the seed in every message
    before = traces(qops.name)
    for _ in range(10):
        process = qops.start("up", tiny_yaml)
        time.sleep(chance.uniform(0.15, 3))
        process.kill()
        process.communicate()
        if chance.random() < 0.4:
            qops("down")
            assert traces(qops.name) == before
    qops("up", tiny_yaml)
    assert on(qops, "systemctl is-system-running") == "running"
    qops("down")
    assert traces(qops.name) == before
    assert not qops.place.folder.exists()


def test_what_somebody_else_made_is_left_alone(tmp_path: Path, tiny_yaml: str):
    qops = Qops(tmp_path, f"other-{random.randrange(10**8)}")
    theirs = f"qops-{qops.name}"
    subprocess.run(["docker", "network", "create", theirs], check=True, capture_output=True)
    try:
        status, _, err = qops.run("up", tiny_yaml)
        assert status == 2
        assert f"there is a network named {theirs} that this lab did not make" in err
        qops("down")
        assert theirs in listed("network", "ls", "--format", "{{.Name}}")
    finally:
        subprocess.run(["docker", "network", "rm", theirs], check=True, capture_output=True)
