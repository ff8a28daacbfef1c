import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from qops.transports import local
from qops.transports.local import Local

STUBBORN = (
    "import os, signal, time, sys\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "if os.fork() == 0:\n"
    "    time.sleep(60)\n"
    "print(os.getpid(), flush=True)\n"
    "time.sleep(60)\n"
)


def _group_is_gone(group: int) -> bool:
    """Return whether nothing of the group runs; in a container without an init the dead may stay as zombies."""
    for _ in range(50):
        if not _states(group) - {"Z"}:
            return True
        time.sleep(0.05)
    return False


def _states(group: int) -> set[str]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, own = path.read_text().rpartition(")")[2].split()[:3]
            found |= {state} if own == str(group) else set()
    return found


def test_output_errors_and_status_come_back_apart() -> None:
    done = Local().run(("sh", "-c", "echo out; echo err >&2; exit 3"), timeout=5)
    assert (done.stdout, done.stderr, done.status, done.failure) == (b"out\n", b"err\n", 3, "")


def test_the_environment_is_english_and_has_no_input() -> None:
    done = Local().run(
        ("sh", "-c", "echo $LC_ALL; read x || echo none; case $PATH in */usr/sbin*) echo s;; esac"), timeout=5
    )
    assert done.stdout == b"C.UTF-8\nnone\ns\n"


def test_a_missing_program_and_one_that_may_not_be_run(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n")
    assert Local().run(("no-such-program-here",), timeout=5).failure == "missing"
    assert Local().run((str(plain),), timeout=5).failure == "denied"
    assert Local().run(("echo", "a\0b"), timeout=5).failure == "failed"


def test_a_group_that_ignores_sigterm_is_killed_whole() -> None:
    begun = time.monotonic()
    done = Local().run((sys.executable, "-c", STUBBORN), timeout=1.0)
    assert done.failure == "timeout" and done.status is None
    assert time.monotonic() - begun < 1.0 + 2 * local.MERCY + 0.5
    assert _group_is_gone(int(done.stdout))


def test_a_child_that_cannot_be_killed_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_signal", lambda process, number: None)
    monkeypatch.setattr(local, "MERCY", 0.1)
    host = Local()
    begun = time.monotonic()
    done = host.run(("sleep", "60"), timeout=0.2)
    assert done.failure == "timeout"
    assert time.monotonic() - begun < 1.0
    (left,) = host._abandoned
    os.killpg(left.pid, signal.SIGKILL)
    left.wait(5)


def test_a_background_process_that_holds_the_pipe_is_not_waited_for() -> None:
    begun = time.monotonic()
    done = Local().run(("sh", "-c", "sleep 5 & echo done"), timeout=4)
    assert done.stdout == b"done\n" and done.status == 0 and done.failure == ""
    assert time.monotonic() - begun < 2


def test_a_child_that_closes_its_output_still_has_a_time_limit() -> None:
    done = Local().run(("sh", "-c", "exec >&- 2>&-; sleep 60"), timeout=0.3)
    assert done.failure == "timeout"


def test_output_over_the_limit_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "OUTPUT", 1000)
    done = Local().run(("sh", "-c", "yes 123456789 | head -n 50000"), timeout=10)
    assert done.status == 0
    assert len(done.stdout) == 1000
    assert done.discarded == 500_000 - 1000


def test_stop_ends_what_runs() -> None:
    host = Local()
    threading.Timer(0.3, host.stop).start()
    begun = time.monotonic()
    done = host.run(("sleep", "60"), timeout=30)
    assert done.status == -signal.SIGTERM
    assert time.monotonic() - begun < 5


def test_files_are_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x7fELF\0\1")
    assert Local().read(str(tmp_path / "a"), timeout=5).stdout == b"\x7fELF\0\1"
    done = Local().read("/proc/self/status", timeout=5)
    assert done.stdout.startswith(b"Name:") and done.failure == ""


def test_a_file_over_the_limit_is_cut_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "OUTPUT", 1000)
    (tmp_path / "big").write_bytes(b"x" * 1500)
    done = Local().read(str(tmp_path / "big"), timeout=5)
    assert (len(done.stdout), done.discarded) == (1000, 500)


def test_what_is_no_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    begun = time.monotonic()
    assert Local().read(str(tmp_path / "pipe"), timeout=5).failure == "failed"
    assert Local().read("/dev/zero", timeout=5).failure == "failed"
    assert Local().read(str(tmp_path), timeout=5).stderr == b"a folder"
    assert Local().read(str(tmp_path / "none"), timeout=5).failure == "missing"
    assert time.monotonic() - begun < 2


def test_a_stat_that_hangs_is_a_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Local, "_look", lambda *_: time.sleep(3))
    assert Local().read("/mnt/gone", timeout=0.2).failure == "timeout"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_of_another_user_is_denied() -> None:
    assert Local().read("/etc/shadow", timeout=5).failure == "denied"


def test_a_practice_root_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text("NVRM version: practice\n")
    monkeypatch.setenv("QOPS_ROOT", str(tmp_path))
    host = Local()
    assert host.read("/proc/driver/nvidia/version", timeout=5).stdout == b"NVRM version: practice\n"
    assert host.read("/proc/uptime", timeout=5).failure == ""
    assert host.run(("sh", "-c", "echo $QOPS_ROOT"), timeout=5).stdout.decode().strip() == str(tmp_path)
