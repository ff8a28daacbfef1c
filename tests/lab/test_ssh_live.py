"""`qops diagnose -i` against a practice host, by real SSH: what it says before, with, and after a planted fault."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from practice_lab import Qops

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.fixture(scope="module")
def written(tiny: Qops, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("inventory") / "lab.yml"
    file.write_text(tiny("inventory"))
    return str(file)


def qops(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "qops", *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode in (0, 1, 3, 4), done.stderr
    return done.returncode, done.stdout


def diagnosed(inventory: str, family: str = "all", host: str = "tiny") -> tuple[int, dict[str, Any]]:
    status, out = qops("diagnose", family, "-i", inventory, "-l", host, "--seconds", "60", "--format", "json")
    (report,) = json.loads(out)["hosts"]
    assert report["host"] == host
    return status, report


def contributing(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f["cause"]: f for f in report["findings"] if f["role"] == "contributing"}


def test_without_a_fault_none_is_found_and_the_gpu_is_seen(tiny: Qops, written: str) -> None:
    status, host = diagnosed(written)
    assert host["verdict"] in ("healthy", "undetermined"), host["reason"]
    assert status in (0, 3)
    assert not [f for f in host["findings"] if f["role"] == "cause" and f["severity"] != "info"]
    assert "Gpus" in host["coverage"]["seen"]
    assert "PcieFunctions" in host["coverage"]["seen"] or "Pcie" in str(host["coverage"]["seen"])


@pytest.mark.parametrize(
    "cause", ["driver-library-version-mismatch", "kernel-upgrade-no-module", "container-lost-gpu-cgroup"]
)
def test_a_planted_fault_is_named_over_ssh_and_gone_when_it_is_mended(tiny: Qops, written: str, cause: str) -> None:
    tiny("break", cause, "tiny")
    try:
        status, host = diagnosed(written, "host")
    finally:
        tiny("mend", "tiny")
    assert (status, host["verdict"]) == (1, "fault"), host["reason"]
    assert host["findings"][0]["cause"] == cause
    after = diagnosed(written, "host")[1]
    assert cause not in [f["cause"] for f in after["findings"]]
    assert after["verdict"] != "fault"


def test_a_container_that_lost_its_gpus_is_real_and_leaves_nothing(tiny: Qops) -> None:
    tiny("break", "container-lost-gpu-cgroup", "tiny")
    tiny("break", "container-lost-gpu-cgroup", "tiny")
    said = tiny("ssh", "tiny", "--", "docker exec gpu-job cat /dev/nvidiactl 2>&1; nvidia-smi -L")
    assert "cat: /dev/nvidiactl: Operation not permitted" in said
    assert "GPU 0: NVIDIA GB10" in said
    # What a person does mends it too: the container gets its devices anew.
    said = tiny("ssh", "tiny", "--", "docker restart -t 0 gpu-job >/dev/null && docker exec gpu-job nvidia-smi -L")
    assert said.startswith("GPU 0: NVIDIA GB10")
    tiny("mend", "tiny")
    left = tiny(
        "ssh", "tiny", "--", "docker ps -aq; docker images -q qops-lab/gpu-job; ls /dev | grep qops-lab || true"
    )
    assert left == ""


@pytest.fixture(scope="module")
def switched(tiny: Qops, tiny_yaml: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An inventory with a second host, whose GPUs sit in pairs below PCIe switches."""
    folder = tmp_path_factory.mktemp("switched")
    content = yaml.safe_load(files("qops.data").joinpath("scenarios/rtxpro8.yaml").read_text())
    base = yaml.safe_load(Path(tiny_yaml).read_text())["hosts"][0]["base"]
    content |= {"name": "switched", "hosts": [{"name": "switched", "base": base, "docker": False}]}
    (folder / "switched.yaml").write_text(yaml.safe_dump(content))
    tiny("up", str(folder / "switched.yaml"))
    (folder / "lab.yml").write_text(tiny("inventory"))
    return str(folder / "lab.yml")


def test_settings_that_only_slow_a_host_down_are_named_and_are_no_verdict(tiny: Qops, switched: str) -> None:
    tiny("break", "p2p-slow-acs-redirect", "switched")
    tiny("break", "power-cap-below-need", "switched")
    try:
        report = diagnosed(switched, host="switched")[1]
    finally:
        tiny("mend", "switched")
    named = contributing(report)
    assert report["verdict"] != "fault"
    assert named["p2p-slow-acs-redirect"]["subject"] == "GPU0 and GPU1"
    assert "setpci" in str(named["p2p-slow-acs-redirect"]["fix"])
    assert "held to 300 W" in named["power-cap-below-need"]["message"]
    assert "p2p-blocked-by-acs-iommu" not in named  # its IOMMU is off
    assert not {"p2p-slow-acs-redirect", "power-cap-below-need"} & set(
        contributing(diagnosed(switched, host="switched")[1])
    )


def test_a_fault_that_needs_other_hardware_is_refused_and_not_recorded(tiny: Qops, switched: str) -> None:
    status, _, err = tiny.run("break", "container-lost-gpu-cgroup", "switched")
    assert (status, "its scenario has no Docker for it" in err) == (2, True)
    hosts = json.loads(tiny("status", "--format", "json"))["hosts"]
    assert [one["faults"] for one in hosts] == [[], []]


def test_the_size_of_shared_memory_is_the_hosts_own(tiny: Qops, written: str, tmp_path: Path) -> None:
    tiny("break", "shm-too-small", "tiny")
    try:
        bundle = str(tmp_path / "tiny.tar.gz")
        assert qops("collect", "nccl", "-i", written, "-l", "spark", "--seconds", "40", "-o", bundle)[0] == 0
    finally:
        tiny("mend", "tiny")
    subprocess.run(["tar", "-C", str(tmp_path), "-xzf", bundle], check=True)
    index = json.loads((tmp_path / "index.json").read_text())
    (answer,) = (one for one in index["answers"] if one["source"] == "df /dev/shm")
    assert " 65536 " in (tmp_path / answer["file"]).read_text()


def test_a_host_that_is_down_is_unreachable(tiny: Qops, written: str, tmp_path: Path) -> None:
    text = Path(written).read_text()
    (tmp_path / "gone.yml").write_text(text.replace("ansible_port: 22", "ansible_port: 23"))
    status, host = diagnosed(str(tmp_path / "gone.yml"))
    assert (status, host["verdict"]) == (4, "unreachable")
