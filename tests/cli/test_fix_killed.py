"""`qops fix --apply` killed at random moments: the next call says what is so, and ends it."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from qops.cli import fix_change

SEED = int(os.environ.get("QOPS_SEED", "20261201"))
KILLS = int(os.environ.get("QOPS_KILLS", "5"))
# Stands for the playbook: a process of its own that takes its time, and sets the "host" as the inventory says.
ROLE = """
import sys, time, yaml
from pathlib import Path
inventory, host, check = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "True"
time.sleep(0.15)
said = inventory.read_text() if inventory.exists() else ""
if not check:
    host.write_text(str((yaml.safe_load(said) or {}).get("host_tuning_swappiness", 60)))
    time.sleep(0.15)
"""
# The whole command, with a look that reads the "host".
CALL = """
import subprocess, sys, time
from pathlib import Path
sys.path[:0] = [sys.argv.pop(1)]
import test_fix
from qops.cli import fix_apply
from qops.cli import main
role, inventory, host = sys.argv.pop(1), sys.argv.pop(1), Path(sys.argv.pop(1))
def play(words):
    return subprocess.run([sys.executable, "-c", role, inventory, str(host), str("--check" in words)], close_fds=False).returncode
def look(run, quiet):
    time.sleep(0.1)
    return test_fix._report(*([] if host.read_text() == "5" else ["swappiness-too-high"]))
fix_apply._play, fix_apply._look, fix_apply.PAUSE = play, look, 0.0
main()
"""


def _call(folder: Path, *words: str) -> subprocess.Popen[str]:
    change = folder / "host_vars/whale/qops-fix.yml"
    return subprocess.Popen(
        [
            *(sys.executable, "-c", CALL, str(Path(__file__).parent), ROLE, str(change), str(folder / "host")),
            *("fix", "whale", "HST061", "-i", str(folder / "hosts.yml"), "--set", "5", *words),
        ],
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _ended(folder: Path, *words: str) -> tuple[int, str]:
    call = _call(folder, *words)
    out, err = call.communicate(timeout=120)
    return call.returncode, out + err


@pytest.mark.slow
def test_killed_at_random_moments_it_leaves_one_state_or_the_other_and_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(SEED)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "site.yml").write_text("---\n")
    (tmp_path / "hosts.yml").write_text("all: {hosts: {whale: {}}}\n")
    host, change = tmp_path / "host", tmp_path / "host_vars/whale/qops-fix.yml"
    host.write_text("60")
    begun = time.monotonic()
    assert _ended(tmp_path, "--apply", "--yes")[0] == 0
    whole = time.monotonic() - begun
    steps = set()
    for number in range(4 * KILLS):
        if number >= KILLS and len(steps) > 1:  # on a busy machine a time says little about a step
            break
        host.write_text("60")
        change.unlink(missing_ok=True)
        call = _call(tmp_path, "--apply", "--yes")
        time.sleep(chance.uniform(0.1, 1.0) * whole)
        if chance.random() < 0.5:
            os.killpg(call.pid, signal.SIGKILL)
        else:
            call.kill()  # the role goes on
        call.communicate(timeout=60)
        where = f"seed {SEED}, kill {number}"
        left = fix_change.left_over("whale")
        steps.add(left.step if left else "")
        _, told = _ended(tmp_path)
        said = yaml.safe_load(change.read_text()) if change.exists() else None
        assert said in (None, {"host_tuning_swappiness": 5}), where
        if left is not None:
            state = "as it was before" if said is None else "has the change"
            assert "was cut short" in told and state in told, f"{where}: {told}"
        else:
            # It had not begun, or it had ended.
            assert "was cut short" not in told and (said is None) == (host.read_text() == "60"), where
        status, told = _ended(tmp_path, "--apply", "--yes")
        for _ in range(20):
            if "still runs" not in told:
                break
            time.sleep(0.1)
            status, told = _ended(tmp_path, "--apply", "--yes")
        ended = status == 0 and "mended" in told
        assert ended or "is not found on whale" in told, f"{where}: {told}"
        assert (host.read_text(), fix_change.left_over("whale")) == ("5", None), where
    assert len(steps) > 1, f"seed {SEED}: every kill came at the same step"
