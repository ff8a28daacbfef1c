"""Who listens on a port: the service itself, or another program that took it."""

from __future__ import annotations

import os
from pathlib import Path

from instance import Instance
from unit import PROC, Container

OURS, NOBODY, UNKNOWN = "ours", "nobody", "unknown"
_LISTENS = "0A"  # TCP_LISTEN in /proc/net/tcp


def owner(instance: Instance, pids: tuple[int, ...], inside: Container) -> str:
    """Return OURS, NOBODY, UNKNOWN (only root sees others' sockets), or the other program: "nginx, process 12"."""
    sockets = _listening(instance.port)
    if not sockets:
        return NOBODY
    if any(sockets & _open(pid) for pid in pids):
        return OURS
    for folder in PROC.iterdir():
        if folder.name.isdigit() and sockets & _open(int(folder.name)):
            name = _text(folder / "comm").strip()
            words = _text(folder / "cmdline").split("\0")
            if name == "docker-proxy" and any(address in words for address in inside.addresses):
                return OURS
            return f"{name}, process {folder.name}"
    return UNKNOWN


def _listening(port: int) -> set[str]:
    found: set[str] = set()
    for name in ("tcp", "tcp6"):
        for line in _text(PROC / "net" / name).splitlines()[1:]:
            words = line.split()
            if len(words) > 9 and words[3] == _LISTENS and int(words[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{words[9]}]")
    return found


def _open(pid: int) -> set[str]:
    found: set[str] = set()
    try:
        for entry in os.scandir(PROC / str(pid) / "fd"):
            try:
                found.add(str(Path(entry.path).readlink()))
            except OSError:
                continue
    except OSError:
        return set()
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
