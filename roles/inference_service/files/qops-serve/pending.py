"""A change that is under way, written to the disk before each step, so that one that was broken off can be undone.

Whoever finds it (the watch, the next change, the start after a boot) puts the release before back: nobody judged the
new one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from instance import Instance, Strange, got, put, settle

BEGUN, STOPPED, UNDOING = "begun", "stopped", "undoing"
PATIENCE = 180.0  # seconds after `begin` in which Ansible writes the files and calls `go`
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_FILE, _SECRET = "change.json", "change.secret"


class Busy(Strange):
    """Another program changes the service now."""


@dataclass(frozen=True)
class Pending:
    """A change. `step`: "" when there is none; `before`: the release to go back to, by name.

    `running` is what the service was started with when it began, `until` when one that only began is over, `secret`
    whether there was one.
    """

    step: str = ""
    before: str = ""
    running: str = ""
    until: float = 0.0
    boot: str = ""
    by: str = ""
    secret: bool = False

    @property
    def same_boot(self) -> bool:
        """Whether the machine did not go down since."""
        return self.boot == got(BOOT_ID).strip()


def read(instance: Instance) -> Pending:
    """Return the change that is under way."""
    try:
        return Pending(**json.loads(got(instance.kept(_FILE)) or "{}"))
    except (ValueError, TypeError):
        raise Strange(f"{instance.kept(_FILE)} cannot be read: remove it, then run the role again") from None


def begin(instance: Instance, before: str, running: str, by: str) -> None:
    """Have the begin of a change on the disk. Its secrets are put aside, for root alone, until it ends."""
    secret = bool(instance.secret) and Path(instance.secret).exists()
    if secret:
        put(instance.kept(_SECRET), got(Path(instance.secret)), lasting=True)
    _write(instance, Pending(BEGUN, before, running, time.time() + PATIENCE, got(BOOT_ID).strip(), by, secret))


def step(instance: Instance, name: str) -> None:
    """Have the next step of a change on the disk."""
    _write(instance, replace(read(instance), step=name))


def secret_back(instance: Instance) -> list[str]:
    """Put the secrets back that were put aside; return the file when it changed."""
    path = Path(instance.secret)
    if not read(instance).secret or not instance.secret or got(path) == got(instance.kept(_SECRET)):
        return []
    put(path, got(instance.kept(_SECRET)), lasting=True)
    return [str(path)]


def clear(instance: Instance) -> None:
    """Say that the change has ended."""
    instance.kept(_FILE).unlink(missing_ok=True)
    settle(instance.kept(_FILE).parent)
    instance.kept(_SECRET).unlink(missing_ok=True)


def abandoned(instance: Instance) -> bool:
    """Whether there is a change of which nobody is to be expected any more, unless somebody has the turn."""
    under_way = read(instance)
    waits = under_way.step == BEGUN and under_way.same_boot and time.time() < under_way.until
    return bool(under_way.step) and not waits


def busy(instance: Instance) -> bool:
    """Whether a change is being made now."""
    try:
        with turn(instance):
            return False
    except Busy:
        return True


@contextlib.contextmanager
def turn(instance: Instance) -> Iterator[None]:
    """One change at a time. Busy when another is being made."""
    path = instance.running("change.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise Busy(f"a change of {instance.name} is under way; it ends by itself") from None
    try:
        yield
    finally:
        os.close(handle)


def _write(instance: Instance, pending: Pending) -> None:
    put(instance.kept(_FILE), json.dumps(asdict(pending)) + "\n", lasting=True)
