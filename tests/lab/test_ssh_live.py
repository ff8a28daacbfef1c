"""`qops diagnose -i` against a practice host, by real SSH: what it says before, with, and after a planted fault."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
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


def diagnosed(inventory: str) -> tuple[int, dict[str, object]]:
    status, out = qops("diagnose", "-i", inventory, "-l", "spark", "--seconds", "40", "--format", "json")
    (host,) = json.loads(out)["hosts"]
    assert host["host"] == "tiny"
    return status, host


def test_without_a_fault_none_is_found_and_the_gpu_is_seen(tiny: Qops, written: str) -> None:
    status, host = diagnosed(written)
    assert host["verdict"] in ("healthy", "undetermined"), host["reason"]
    assert status in (0, 3)
    assert not [f for f in host["findings"] if f["role"] == "cause" and f["severity"] != "info"]
    assert "Gpus" in host["coverage"]["seen"]
    assert "PcieFunctions" in host["coverage"]["seen"] or "Pcie" in str(host["coverage"]["seen"])


@pytest.mark.parametrize("cause", ["driver-library-version-mismatch"])
def test_a_planted_fault_is_named_over_ssh_and_gone_when_it_is_mended(tiny: Qops, written: str, cause: str) -> None:
    tiny("break", cause, "tiny")
    try:
        status, host = diagnosed(written)
    finally:
        tiny("mend", "tiny")
    assert (status, host["verdict"]) == (1, "fault")
    assert host["findings"][0]["cause"] == cause
    assert diagnosed(written)[1]["verdict"] != "fault"


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
