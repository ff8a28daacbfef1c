"""What was seen is asked once in a run, as long as nothing was changed."""

import re
import subprocess
import time
from pathlib import Path

import pytest

from qops import plans
from qops.bridge import Remembered, wanted_soon
from qops.evidence.kernel import Hugepages, Memory, Sysctls
from qops.evidence.readiness import Clock
from qops.evidence.text import Gaps
from qops.probes import clock


class Shell:
    """This machine's shell, which counts the round trips."""

    def __init__(self) -> None:
        self.scripts: list[str] = []

    def __call__(self, script: str) -> tuple[int, str, str]:
        self.scripts.append(script)
        done = subprocess.run(["/bin/sh", "-s"], input=script.encode(), capture_output=True, check=False)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


@pytest.fixture(name="shell")
def a_shell() -> Shell:
    return Shell()


def _look(folder: Path, shell: Shell, *kinds: type, ahead: tuple[type, ...] = ()) -> dict[type, object]:
    return Remembered(str(folder), "h").look(shell, kinds, seconds=20, ahead=ahead)


def test_the_second_who_wants_it_asks_nothing(tmp_path: Path, shell: Shell) -> None:
    first = _look(tmp_path, shell, Sysctls, Memory)
    second = _look(tmp_path, shell, Sysctls, Memory)
    assert len(shell.scripts) == 1
    assert first == second and set(second) == {Sysctls, Memory, Gaps}


def test_whoever_wants_the_gaps_too_asks_nothing_more(tmp_path: Path, shell: Shell) -> None:
    _look(tmp_path, shell, Memory, Gaps)
    assert set(_look(tmp_path, shell, Memory, Gaps)) == {Memory, Gaps}
    assert len(shell.scripts) == 1


@pytest.mark.parametrize("off", [0, 500, -500])
def test_a_clock_is_not_wrong_by_the_time_that_the_question_took(tmp_path: Path, shell: Shell, off: int) -> None:
    def late(script: str) -> tuple[int, str, str]:
        time.sleep(2.1)
        status, out, err = shell(script)
        return status, re.sub(r"(?<=== clock )[0-9]+", lambda told: str(int(told[0]) + off), out), err

    seen = Remembered(str(tmp_path), "h").look(late, [Clock], seconds=20, special=[clock.compared()])
    ahead = seen[Clock].ahead
    assert ahead == 0 if off == 0 else abs(ahead - off) <= 10


def test_only_what_is_missing_is_asked(tmp_path: Path, shell: Shell) -> None:
    _look(tmp_path, shell, Memory)
    assert set(_look(tmp_path, shell, Memory, Sysctls)) == {Memory, Sysctls, Gaps}
    assert len(shell.scripts) == 2
    assert "meminfo" in shell.scripts[0] and "meminfo" not in shell.scripts[1]


def test_after_a_change_everything_is_asked_again(tmp_path: Path, shell: Shell) -> None:
    _look(tmp_path, shell, Memory)
    Remembered(str(tmp_path), "h").forget()
    _look(tmp_path, shell, Memory)
    assert len(shell.scripts) == 2


def test_hosts_are_told_apart(tmp_path: Path, shell: Shell) -> None:
    _look(tmp_path, shell, Memory)
    Remembered(str(tmp_path), "another/host").look(shell, [Memory], seconds=20)
    assert len(shell.scripts) == 2


def test_what_others_will_want_is_seen_along_and_not_told_yet(tmp_path: Path, shell: Shell) -> None:
    assert set(_look(tmp_path, shell, Memory, ahead=(Sysctls, Hugepages))) == {Memory, Gaps}
    _look(tmp_path, shell, Sysctls)
    assert len(shell.scripts) == 1


def _refusing(script: str) -> tuple[int, str, str]:
    """A host with no place for the answers of all questions at once, that lets none be put by itself."""
    if "mkfifo" not in script:
        return 1, "", "permission denied"
    done = subprocess.run(["/bin/sh", "-s"], input="mktemp() { false; }\n" + script, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_what_did_not_answer_is_asked_again(tmp_path: Path, shell: Shell) -> None:
    seen = Remembered(str(tmp_path), "h").look(_refusing, [Memory], seconds=5)
    assert Memory not in seen and seen[Gaps].gaps
    assert Memory in _look(tmp_path, shell, Memory)


def test_a_question_that_was_answered_in_the_end_is_no_gap(tmp_path: Path, shell: Shell) -> None:
    assert Remembered(str(tmp_path), "h").look(_refusing, [Memory, Sysctls], seconds=5)[Gaps].gaps
    seen = _look(tmp_path, shell, Memory)
    assert Memory in seen and {gap.probe for gap in seen[Gaps].gaps} == {"sysctls"}  # type: ignore[attr-defined]


def test_a_file_that_is_damaged_counts_for_nothing(tmp_path: Path, shell: Shell) -> None:
    _look(tmp_path, shell, Memory)
    (stored,) = tmp_path.iterdir()
    stored.write_bytes(stored.read_bytes()[:40])
    _look(tmp_path, shell, Memory)
    assert len(shell.scripts) == 2


def test_a_run_of_some_tags_looks_at_nothing_ahead() -> None:
    assert wanted_soon(["gpu_power"], []) == set()
    assert {kind for plan in plans.ALL if plan.role == "gpu_power" for kind in plan.kinds} <= wanted_soon(["all"], [])
