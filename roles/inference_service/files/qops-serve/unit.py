"""The unit of a service, and the processes that are its own."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from bounded import run
from instance import Instance

_ASKED = "ActiveState,SubState,InvocationID,ControlGroup,NRestarts,Result,ExecMainStatus,ActiveEnterTimestampMonotonic"
# Simulated hosts have a /sys of their own beside the real one.
CGROUPS = tuple(Path(root + "/sys/fs/cgroup") for root in {"", os.environ.get("QOPS_ROOT", "")})
PROC = Path("/proc")


@dataclass(frozen=True)
class Unit:
    """What systemd says of a unit. `active` is its word: "active", "activating", "failed"; "": it said nothing."""

    active: str = ""
    sub: str = ""
    invocation: str = ""
    cgroup: str = ""
    restarts: int = 0
    result: str = ""
    status: str = ""
    since: float = 0.0  # seconds after the boot


@dataclass(frozen=True)
class Container:
    """What the engine says of a container: its first process (0: it does not run) and its addresses."""

    pid: int = 0
    addresses: tuple[str, ...] = field(default=())


def show(instance: Instance) -> Unit:
    """Ask systemd."""
    said = run(["systemctl", "show", f"--property={_ASKED}", "--", instance.unit])
    values = dict(line.split("=", 1) for line in said.text.splitlines() if "=" in line) if said.well else {}
    return Unit(
        active=values.get("ActiveState", ""),
        sub=values.get("SubState", ""),
        invocation=values.get("InvocationID", ""),
        cgroup=values.get("ControlGroup", ""),
        restarts=_number(values.get("NRestarts", "")),
        result=values.get("Result", ""),
        status=values.get("ExecMainStatus", ""),
        since=_number(values.get("ActiveEnterTimestampMonotonic", "")) / 1e6,
    )


def container(instance: Instance) -> Container:
    """Ask the container engine about the service's container."""
    if instance.runtime == "venv":
        return Container()
    form = "{{.State.Pid}}{{range .NetworkSettings.Networks}} {{.IPAddress}}{{end}}"
    said = run([instance.runtime, "inspect", "--type=container", "--format", form, instance.container])
    words = said.text.split() if said.well else []
    return Container(_number(words[0]), tuple(words[1:])) if words else Container()


def processes(found: Unit, inside: Container) -> tuple[int, ...]:
    """Return the processes of the unit, and of its container."""
    groups = [found.cgroup] if found.cgroup else []
    if inside.pid:
        try:
            lines = (PROC / str(inside.pid) / "cgroup").read_text(encoding="utf-8").splitlines()
        except OSError:
            lines = []
        # 0::/PATH of version 2; of version 1 the line of systemd's own hierarchy.
        groups += [
            line.split(":", 2)[2]
            for line in lines
            if line.startswith("0::") or line.split(":")[1:2] == ["name=systemd"]
        ]
    pids = {pid for group in groups if group.strip("/") for pid in _members(group)}
    return tuple(sorted(pids))


def _members(group: str) -> set[int]:
    found: set[int] = set()
    for top in (folder / name for folder in CGROUPS for name in ("", "systemd", "unified")):
        folder = top / group.lstrip("/")
        for path in (folder / "cgroup.procs", *folder.glob("**/cgroup.procs")):
            try:
                found |= {int(line) for line in path.read_text(encoding="utf-8").split()}
            except (OSError, ValueError):
                continue
    return found


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) else 0
