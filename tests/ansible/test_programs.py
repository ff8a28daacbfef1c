"""A program as a unit of its own on a host: started, listened to, and what becomes of it when nobody does."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from qops.bridge import programs
from qops.errors import TransportError, UsageError

# Runs what it is given beside itself, as systemd does; the process is what the unit is.
SYSTEMD_RUN = """#!/bin/sh
while case $1 in --*) true ;; *) false ;; esac; do shift; done
setsid "$@" >/dev/null 2>&1 &
echo $! >"$UNIT"
"""
SYSTEMCTL = """#!/bin/sh
pid=$(cat "$UNIT" 2>/dev/null) && kill -0 "$pid" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$pid/status"
"""
Shell = Callable[[str], tuple[int, str, str]]


@pytest.fixture(name="shell")
def shell_with_a_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setattr(programs, "FOLDER", str(tmp_path / "programs"))
    for name, script in (("systemd-run", SYSTEMD_RUN), ("systemctl", SYSTEMCTL)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "UNIT": str(tmp_path / "unit")}

    def run(script: str) -> tuple[int, str, str]:
        done = subprocess.run(
            ["/bin/sh", "-s"], input=script, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        return done.returncode, done.stdout, done.stderr

    return run


def _heard(shell: Shell) -> tuple[list[str], int]:
    lines: list[str] = []
    seen, status = 0, None
    while status is None:
        heard = programs.follow(shell, "change", seen)
        lines, seen, status = [*lines, *heard.lines], heard.seen, heard.status
    return lines, status


def test_lines_come_while_it_runs_and_the_status_at_the_end(shell: Shell) -> None:
    programs.begin(
        shell, "change", "Changes it", ["sh", "-c", 'echo "$1"; sleep 2; echo two >&2; exit 3', "sh", "o'$e"]
    )
    first = programs.follow(shell, "change", 0)
    assert (first.lines, first.seen, first.status) == (("o'$e",), 1, None)
    assert _heard(shell) == (["o'$e", "two"], 3)


def test_one_that_says_nothing(shell: Shell) -> None:
    programs.begin(shell, "change", "Changes it", ["true"])
    assert _heard(shell) == ([], 0)


def test_what_it_says_reaches_no_terminal_as_a_command(shell: Shell) -> None:
    programs.begin(shell, "change", "Changes it", ["printf", r"\033]0;title\007red\033[31m\n"])
    lines, status = _heard(shell)
    assert status == 0 and "\033" not in lines[0] and "\007" not in lines[0]


def test_a_second_one_is_refused_while_the_first_runs(shell: Shell) -> None:
    programs.begin(shell, "change", "Changes it", ["sleep", "3"])
    with pytest.raises(UsageError, match="change runs already on this host"):
        programs.begin(shell, "change", "Changes it", ["true"])
    assert _heard(shell) == ([], 0)
    programs.begin(shell, "change", "Changes it", ["echo", "anew"])
    assert _heard(shell) == (["anew"], 0)


def test_one_that_is_killed_with_its_unit(shell: Shell, tmp_path: Path) -> None:
    programs.begin(shell, "change", "Changes it", ["sh", "-c", "echo one; sleep 60"])
    while not programs.follow(shell, "change", 0).lines:
        time.sleep(0.1)
    os.killpg(int((tmp_path / "unit").read_text()), 9)
    assert _heard(shell) == (["one"], -1)


def test_one_that_cannot_be_started(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "systemd-run").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n")
    with pytest.raises(TransportError, match="change could not be started: Failed to connect to bus"):
        programs.begin(shell, "change", "Changes it", ["true"])
    with pytest.raises(TransportError, match="does not say how far it is"):
        programs.follow(lambda _: (255, "", "Connection closed"), "change", 0)
