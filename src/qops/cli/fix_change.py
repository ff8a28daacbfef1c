"""The change of the inventory that a fix makes, and the journal by which a killed one is found again."""

import contextlib
import difflib
import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from qops import whole_file
from qops.errors import QopsError, UsageError

FILE = "qops-fix.yml"
"""A file of its own below host_vars/HOST, so that nothing that a person wrote is written again."""
_HEAD = "# Written by `qops fix`. Move what should stay to where it belongs.\n"


class Change(Struct, frozen=True):
    """The text of one file before and after; "" is no file. `variable` is "" when nothing changes."""

    path: str
    before: str
    after: str
    variable: str = ""
    value: str = ""

    def diff(self) -> list[str]:
        """Return the change as a unified diff, or one line that says that there is none."""
        if self.before == self.after:
            return ["# the inventory stays as it is: the role sets what it says"]
        old, new = self.before.splitlines(), self.after.splitlines()
        return list(difflib.unified_diff(old, new, self.path if old else "/dev/null", self.path, lineterm=""))


class Journal(Struct, frozen=True):
    """A fix that has begun. `step`: "inventory", "role", "judging" or "undoing"."""

    host: str
    cause: str
    step: str
    change: Change


def plan(inventory: str, host: str, variable: str, value: str | None) -> Change:
    """Return the change that gives `variable` the `value` for `host`; none when there is no value.

    Raises UsageError when the place is taken by a file that Ansible would then not read.
    """
    source = Path(inventory)
    folder = (source if source.is_dir() else source.parent) / "host_vars" / host
    path = folder / FILE
    before = _text(path)
    if value is None:
        return Change(str(path), before, before)
    if not source.exists():
        raise UsageError(f"there is no inventory {inventory}", "name it with -i")
    if not re.fullmatch(r"[\w.-]+", host) or host.startswith("."):
        raise UsageError(f"{host!r} is no name of one host", "a fix is for one host at a time")
    for taken in (folder.with_name(f"{host}{ending}") for ending in (".yml", ".yaml", ".json")):
        if taken.exists():
            # Ansible reads either the folder or the file of a host, and not both.
            raise UsageError(f"{taken} has the host's variables", f"set {variable} there, and leave out --set")
    if folder.is_file():
        raise UsageError(f"{folder} has the host's variables", f"set {variable} there, and leave out --set")
    import yaml

    try:
        told = yaml.safe_load(value)
        now = yaml.safe_load(before) or {}
    except yaml.YAMLError as error:
        raise UsageError(f"not YAML: {str(error).splitlines()[0]}", "quote the value") from None
    if not isinstance(now, dict):
        raise UsageError(f"{path} is no mapping", "remove it")
    after = _HEAD + yaml.safe_dump({**now, variable: told}, sort_keys=True)
    return Change(str(path), before, after, variable, value)


def write(change: Change, *, back: bool = False) -> None:
    """Put the file into its new state, or `back` into the old one: as a whole, or not at all."""
    text, path = (change.before if back else change.after), Path(change.path)
    if text:
        _replace(path, text.encode())
    else:
        path.unlink(missing_ok=True)
        if path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()


def _journal(host: str) -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(state) / "qops" / "fix" / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', host)}.json"


@contextlib.contextmanager
def alone(host: str) -> Iterator[None]:
    """Hold the host against a second fix, also of another call; raises UsageError when one is under way.

    Programs that are started with `close_fds=False` hold it as well, until they end.
    """
    path = _journal(host).with_suffix(".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
        os.set_inheritable(file.fileno(), True)
    except OSError as error:
        raise QopsError(f"cannot write {path}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"another fix of {host} is under way, or its role still runs", "wait for its end, then call again"
            ) from None
        yield


def note(host: str, cause: str, step: str, change: Change) -> None:
    """Write the journal before `step` is taken."""
    _replace(_journal(host), msgspec.json.encode(Journal(host, cause, step, change)))


def forget(host: str) -> None:
    """Take the journal away: the fix has come to its end."""
    _journal(host).unlink(missing_ok=True)


def left_over(host: str) -> Journal | None:
    """Return the journal of a fix that was cut short; raises QopsError when it cannot be read."""
    try:
        return msgspec.json.decode(_journal(host).read_bytes(), type=Journal)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeError):
        raise QopsError(f"the journal {_journal(host)} cannot be read", "look at the host, then remove it") from None


def told(left: Journal) -> str:
    """Say what a fix that was cut short has left."""
    now = _text(Path(left.change.path))
    if left.change.before == left.change.after:
        inventory = "the inventory was not to change"
    elif now == left.change.before:
        inventory = "the inventory is as it was before"
    elif now == left.change.after:
        inventory = f"the inventory has the change ({left.change.path})"
    else:
        inventory = f"{left.change.path} was changed by somebody since"
    host = {
        "inventory": "the host was not touched",
        "role": "the role was running: --apply runs it to its end",
        "judging": "the role had run, and nobody judged it: --apply does",
        "undoing": "it was being taken back: --apply begins anew",
    }.get(left.step, "what was done on the host is not known")
    return f"a fix of {left.cause} on {left.host} was cut short: {inventory}; {host}"


def style(line: str) -> str:
    """Return the style of a line of a diff."""
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim" if line.startswith("#") else "")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is no text'}") from None


def _replace(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole_file.replace(path, data)
    except OSError as error:
        raise QopsError(f"cannot write {path}: {error.strerror}") from None
