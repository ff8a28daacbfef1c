"""What a hung engine looked like, taken before it is restarted. Bounded in time and size; nothing is changed."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import ask
import ras
import unit
from bounded import run
from instance import Instance, got, settle

if TYPE_CHECKING:
    from ready import Found

KEPT = 10  # incidents of a service; older ones go
MOST = 64  # processes that are looked into
SECONDS = 90.0  # for all of it
_STACK = 10.0  # seconds for one process
_PRIVATE = 0o700  # a log may hold what users asked


def take(instance: Instance, found: Found, why: str) -> Path:
    """Write an incident's folder and return it."""
    folder = instance.kept("incidents") / time.strftime("%Y%m%dT%H%M%S")
    folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    folder.parent.chmod(_PRIVATE)
    end = time.monotonic() + SECONDS
    pids = unit.processes(found.unit, unit.container(instance))[:MOST]
    about = {
        "service": instance.name,
        "unit": instance.unit,
        "why": why,
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "invocation": found.unit.invocation,
        "restarts": found.unit.restarts,
        "processes": list(pids),
    }
    # The cheap ones first: they are there even when the time is over.
    steps: tuple[tuple[str, Callable[[], str]], ...] = (
        ("about.json", lambda: json.dumps(about, indent=1) + "\n"),
        ("processes.txt", lambda: "".join(map(process, pids))),
        (
            "journal.txt",
            lambda: _lines(["journalctl", "-u", instance.unit, "-n", "1000", "--no-pager", "-o", "short-iso"]),
        ),
        ("kernel.txt", lambda: _lines(["journalctl", "-k", "-n", "300", "--no-pager", "-o", "short-iso"])),
        ("metrics.txt", lambda: ask.call(instance, "/metrics", 5).body.decode(errors="replace")),
        ("ras.txt", lambda: ras.asked(pids)),
        ("stacks.txt", lambda: stacks(pids, end)),
        ("gpus.txt", lambda: _lines(["nvidia-smi"]) if instance.gpus else ""),
    )
    for name, step in steps:
        if text := step():
            (folder / name).write_text(text, encoding="utf-8", errors="replace")
        if time.monotonic() > end:
            break
    settle(folder)
    _forget(folder.parent)
    return folder


def process(pid: int) -> str:
    """Return what the kernel says of a process and its threads: state, where it waits, what it used."""
    folder = unit.PROC / str(pid)
    status = {
        name: value.strip()
        for name, _, value in (line.partition(":") for line in got(folder / "status").splitlines())
        if name in ("State", "PPid", "VmRSS", "Threads")
    }
    if not status:
        return ""
    command = " ".join(got(folder / "cmdline").split("\0"))[:300]
    used = got(folder / "stat").rpartition(")")[2].split()[11:13]
    lines = [f"{pid} {got(folder / 'comm').strip()} {status} cpu ticks {'+'.join(used)}\n  {command}\n"]
    for task in sorted((folder / "task").glob("[0-9]*"))[:200]:
        state = got(task / "stat").rpartition(")")[2].split()[:1]
        kernel = "; ".join(line.split()[-1] for line in got(task / "stack").splitlines()[:6] if line.split())
        lines.append(
            f"  {task.name} {got(task / 'comm').strip()} {''.join(state)} {got(task / 'wchan') or '-'}"
            f"{' [' + kernel + ']' if kernel else ''}\n"
        )
    return "".join(lines)


def stacks(pids: tuple[int, ...], end: float) -> str:
    """Return the Python stacks by py-spy, where it is. Not blocking: a stopped process never lets itself be paused."""
    program = shutil.which("py-spy", path="/usr/local/bin:/usr/bin:/opt/qops/bin:/root/.local/bin")
    if program is None:
        return ""
    found = []
    for pid in pids:
        if time.monotonic() + _STACK > end:
            found.append("no time left for the rest\n")
            break
        if "python" in got(unit.PROC / str(pid) / "maps"):
            found.append(f"== {pid}\n{run([program, 'dump', '--nonblocking', '--pid', str(pid)], _STACK).text}\n")
    return "".join(found)


def _lines(argv: list[str]) -> str:
    return run(argv, 15).text


def _forget(folder: Path) -> None:
    for old in sorted(path for path in folder.iterdir() if path.is_dir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
