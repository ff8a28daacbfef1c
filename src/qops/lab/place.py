"""Where a lab keeps its keys and its lock, and what it is called."""

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from qops.lab.errors import LabError

Say = Callable[[str], None]

LOCK_PATIENCE_S = 900  # another `up` may be making a base image, a minute or two each

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


@dataclass(frozen=True, slots=True)
class Place:
    """One lab's name and its folder of state (0700)."""

    name: str
    folder: Path

    @property
    def key(self) -> Path:
        """The private key that opens every host of this lab."""
        return self.folder / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """The host keys, one line for each address."""
        return self.folder / "known_hosts"

    @property
    def builds(self) -> Path:
        """Half-made base images."""
        return self.folder / "builds"

    @property
    def lock(self) -> Path:
        """Held while anything of the lab is changed."""
        return self.folder / "lock"

    def host_folder(self, host: str) -> Path:
        """Return the folder with the SSH host key of one host."""
        return self.folder / "hosts" / host


def here() -> Place:
    """Return the lab that QOPS_LAB names (default: lab), under XDG_STATE_HOME."""
    name = os.environ.get("QOPS_LAB") or "lab"
    if not _NAME.fullmatch(name):
        raise LabError(
            f"QOPS_LAB is {name!r}, which is no name for a lab",
            "use lower-case letters, digits and hyphens, a letter first, 31 at most",
        )
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    folder = state / "qops" / ("lab" if name == "lab" else f"lab-{name}")
    if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
        raise LabError(f"the lab in {folder} belongs to another user, who made it", "sudo -E qops lab status")
    return Place(name, folder)


@contextlib.contextmanager
def locked(place: Place, say: Say, patience_s: float = LOCK_PATIENCE_S) -> Iterator[int]:
    """Hold the lab's lock and yield its descriptor, for the children to inherit.

    A child that outlives a killed `qops lab` keeps the lock until it is done, so that the next one does
    not work against it.
    """
    descriptor = _open_locked(place, say, patience_s)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_locked(place: Place, say: Say, patience_s: float) -> int:
    deadline = time.monotonic() + patience_s
    told = False
    while True:
        place.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            descriptor = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # a `down` has just removed the folder
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            if time.monotonic() > deadline:
                raise LabError(
                    f"another qops lab has held {place.lock} for {patience_s:.0f} s",
                    f"see who it is: fuser -v {place.lock}",
                ) from None
            if not told:
                say("waiting for another qops lab to finish")
                told = True
            time.sleep(0.2)
            continue
        # `down` removes the lock file while it holds it: a lock on a file that is gone keeps nobody out.
        if place.lock.exists() and os.fstat(descriptor).st_ino == place.lock.stat().st_ino:
            return descriptor
        os.close(descriptor)
