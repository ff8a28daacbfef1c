"""The script of the role gpu_power, against an nvidia-smi that keeps its state in files."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from playing import ROOT

SCRIPT = ROOT / "roles/gpu_power/files/qops-gpu-power.sh"
# State: a file of each GPU with its persistence mode and limit. -pl above 600 warns and returns 0, as on boards without.
NVIDIA_SMI = """#!/bin/sh
cd "$GPUS" || exit 9
echo "$*" >>log
case "$1" in
--query-gpu=*)
  for f in GPU-*; do read -r mode limit <"$f"; echo "$f, $mode, $limit"; done ;;
-i)
  read -r mode limit <"$2" || exit 6
  case "$3" in
  -pm) [ "$4" = 1 ] && mode=Enabled || mode=Disabled ;;
  -pl)
    [ "$4" = 999 ] && { echo "Treating as warning and moving on."; exit 0; }
    [ "$4" -ge 300 ] || { echo "Provided power limit $4 W is not a valid power limit"; exit 2; }
    limit=$4.00 ;;
  esac
  echo "$mode $limit" >"$2" ;;
esac
"""


@pytest.fixture(name="gpus")
def fake_gpus(tmp_path: Path) -> Path:
    """Two GPUs, of which one already is as most tests want it."""
    gpus = tmp_path / "gpus"
    gpus.mkdir()
    (gpus / "GPU-01").write_text("Disabled 600.00\n")
    (gpus / "GPU-02").write_text("Enabled 350.00\n")
    (tmp_path / "bin").mkdir()
    smi = tmp_path / "bin/nvidia-smi"
    smi.write_text(NVIDIA_SMI)
    smi.chmod(0o755)
    return gpus


def _run(gpus: Path, lines: str) -> subprocess.CompletedProcess[str]:
    conf = gpus.parent / "gpu-power.conf"
    conf.write_text(lines)
    (gpus / "log").write_text("")
    script = SCRIPT.read_text().replace("/etc/qops/gpu-power.conf", str(conf))
    script = script.replace("/run/qops/gpu-clocks", str(gpus.parent / "run/gpu-clocks"))
    env = {"PATH": f"{gpus.parent}/bin:{os.environ['PATH']}", "GPUS": str(gpus)}
    return subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=False)


def _set(gpus: Path) -> list[str]:
    """Return what nvidia-smi was told to set in the last run."""
    return [line for line in (gpus / "log").read_text().splitlines() if not line.startswith("--query")]


def test_only_what_differs_is_set_and_a_second_run_sets_nothing(gpus: Path) -> None:
    lines = "# why\n\nGPU-01 on 350 -\nGPU-02 on 350 -\n"
    done = _run(gpus, lines)
    assert done.returncode == 0, done.stderr
    assert _set(gpus) == ["-i GPU-01 -pm 1", "-i GPU-01 -pl 350"]
    assert done.stdout.splitlines() == ["GPU-01: persistence off -> on", "GPU-01: power limit 600.00 W -> 350 W"]
    again = _run(gpus, lines)
    assert (again.returncode, again.stdout, _set(gpus)) == (0, "", [])


def test_boards_of_one_host_have_limits_of_their_own(gpus: Path) -> None:
    assert _run(gpus, "GPU-01 - 450 -\nGPU-02 - 300 -\n").returncode == 0
    assert [(gpus / name).read_text() for name in ("GPU-01", "GPU-02")] == ["Disabled 450.00\n", "Enabled 300.00\n"]


def test_clocks_are_locked_at_each_run_and_told_once(gpus: Path) -> None:
    first = _run(gpus, "GPU-01 - - 600,2100\n")
    assert first.stdout == "GPU-01: clocks as they were -> 600,2100\n"
    again = _run(gpus, "GPU-01 - - 600,2100\n")
    assert (again.stdout, _set(gpus)) == ("", ["-i GPU-01 -lgc 600,2100"])
    assert _run(gpus, "GPU-01 - - unlocked\n").stdout == "GPU-01: clocks 600,2100 -> unlocked\n"
    assert _set(gpus) == ["-i GPU-01 -rgc"]
    assert (gpus.parent / "run/gpu-clocks").read_text() == "GPU-01 unlocked\n"


def test_a_failure_is_told_and_the_other_gpus_are_set(gpus: Path) -> None:
    done = _run(gpus, "GPU-01 - 100 -\nGPU-99 on - -\nGPU-02 - 400 -\n")
    assert done.returncode == 1
    assert "GPU-01: nvidia-smi -pl 100: Provided power limit 100 W is not a valid power limit" in done.stderr
    assert "GPU-99: nvidia-smi does not name this GPU" in done.stderr
    assert (gpus / "GPU-02").read_text() == "Enabled 400.00\n"


def test_a_warning_with_status_0_is_a_failure(gpus: Path) -> None:
    done = _run(gpus, "GPU-01 - 999 -\n")
    assert done.returncode == 1
    assert "the power limit is still 600.00 W" in done.stderr


def test_without_a_driver_it_says_so(gpus: Path) -> None:
    (gpus.parent / "bin/nvidia-smi").unlink()
    done = _run(gpus, "GPU-01 on - -\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no nvidia-smi" in done.stderr


def _verifies() -> bool:
    """Return whether this machine's udevadm checks rules: from systemd 254 on."""
    if not shutil.which("udevadm"):
        return False
    said = subprocess.run(["udevadm", "--version"], capture_output=True, text=True, check=False).stdout
    return int(said.split()[0]) >= 254


@pytest.mark.skipif(not _verifies(), reason="needs udevadm of systemd 254 or later")
def test_udev_takes_the_rule() -> None:
    rule = ROOT / "roles/gpu_power/files/72-qops-gpu-power.rules"
    done = subprocess.run(["udevadm", "verify", str(rule)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
