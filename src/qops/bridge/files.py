"""Files of a host as they are and as they should be: compared in one round trip, without Python on the host."""

import base64
import binascii
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qops.bridge import units
from qops.bridge.facts import plain
from qops.bridge.transport import Shell
from qops.derive import json_file
from qops.errors import TransportError

LARGEST = 1 << 20  # bytes of a file that are compared and shown; a larger one differs by its checksum

# One line for each file: kind, mode, owner and group, target of a link, sha256, content in base64.
_LOOK = """\
look() {{
  if [ -L "$1" ]; then echo "link - - $(readlink -- "$1" | base64 | tr -d '\\n') - -"; return; fi
  if [ -d "$1" ]; then echo "directory $(stat -c '%a %U:%G' -- "$1") - - -"; return; fi
  if [ ! -e "$1" ]; then echo "absent - - - - -"; return; fi
  if [ ! -f "$1" ]; then echo "other - - - - -"; return; fi
  sum=$(sha256sum <"$1") || return
  size=$(stat -c %s -- "$1") || return
  content=-
  [ "$size" -gt {largest} ] || content=$(base64 <"$1" | tr -d '\\n')
  echo "file $(stat -c '%a %U:%G' -- "$1") - ${{sum%% *}} ${{content:--}}"
}}
"""


@dataclass(frozen=True, slots=True)
class Current:
    """A file as it is. `kind` is "file", "directory", "link", "absent" or "other"; `content` None when too large."""

    kind: str
    mode: str = ""  # "0644"
    owner: str = ""
    group: str = ""
    target: str = ""
    sha256: str = ""
    content: bytes | None = None


def look_at(shell: Shell, paths: Sequence[str]) -> tuple[Current, ...]:
    """Return how files are, in the order of `paths`. TransportError when the host does not say."""
    if not paths:
        return ()
    script = _LOOK.format(largest=LARGEST) + "".join(f"look {shlex.quote(path)}\n" for path in paths)
    status, out, err = shell(script)
    lines = out.splitlines()
    if len(lines) != len(paths):
        reason = (err or out).strip()[-300:] or f"exit status {status}"
        raise TransportError(f"files could not be read on the host: {reason}", "look with --become, or as root")
    return tuple(_current(line) for line in lines)


def merged(file: dict[str, Any], now: Current) -> dict[str, Any]:
    """Return `file` with the bytes that its `merge` makes of a JSON file as it is, whose mode and owner stay.

    UsageError when what is there is no JSON object.
    """
    if now.kind != "file":
        return {**file, "bytes": json_file.text(plain(file["merge"])).encode()}
    kept = {"mode": now.mode, "owner": now.owner, "group": now.group}
    return {**file, **kept, "bytes": json_file.laid_over(file["dest"], now.content or b"", plain(file["merge"]))}


def _current(line: str) -> Current:
    try:
        kind, mode, owners, target, sha256, content = line.split(" ")
        owner, _, group = owners.partition(":")
        return Current(
            kind,
            mode.zfill(4) if mode != "-" else "",
            owner if owners != "-" else "",
            group,
            base64.b64decode(target).decode(errors="replace").rstrip("\n") if target != "-" else "",
            sha256 if sha256 != "-" else "",
            None if content == "-" and not _is_empty(sha256) else base64.b64decode(content if content != "-" else ""),
        )
    except (ValueError, binascii.Error):
        raise TransportError(
            f"this is no answer about a file: {line[:200]!r}", "see what the login shell prints"
        ) from None


def _is_empty(sha256: str) -> bool:
    return sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # of no bytes


_WRITE = """\
set -u
put() {
  t=$(mktemp "$(dirname -- "$1")/.qops-XXXXXX") || return
  if base64 -d >"$t" && chown "$3" "$t" && chmod "$2" "$t" && mv -fT -- "$t" "$1"; then label "$1"
  else rm -f -- "$t"; return 1; fi
}
folder() { mkdir -p -- "$1" && chown "$3" -- "$1" && chmod "$2" -- "$1" && label "$1"; }
point() { ln -sfnT -- "$2" "$1" && label "$1"; }
label() { [ ! -x /usr/sbin/restorecon ] || /usr/sbin/restorecon -- "$1"; }
stop() { echo "qops-stopped $1" >&2; exit 1; }
"""
_END = "qops-end-of-file"  # no line of base64


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file, folder or link as it should be. `target` is a link's, `content` a file's."""

    path: str
    state: str  # "file", "directory", "link"
    mode: str = "0644"
    owner: str = "root"
    group: str = "root"
    target: str = ""
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of it: the path that failed and why, or neither; units that systemd is still to read anew."""

    failed: str = ""
    reason: str = ""
    pending: tuple[str, ...] = ()


def write_all(shell: Shell, files: Sequence[Wanted]) -> Written:
    """Write `files` in their order in one round trip, each as one step, and have systemd read new units if it may.

    A file is written beside its place and moved there, so that nobody reads half of it.
    """
    steps = "".join(_step(file) for file in files)
    status, out, err = shell(_WRITE + steps + units.script([file.path for file in files]))
    if not status:
        return Written(pending=tuple(units.pending(out)))
    lines = err.strip().splitlines()
    stopped = next((line.removeprefix("qops-stopped ") for line in lines if line.startswith("qops-stopped ")), "")
    reason = " ".join(line for line in lines if not line.startswith("qops-stopped ")) or out.strip()[-300:]
    return Written(stopped or files[0].path, reason or f"exit status {status}")


def _step(file: Wanted) -> str:
    path, owners = shlex.quote(file.path), shlex.quote(f"{file.owner}:{file.group}")
    if file.state == "link":
        return f"point {path} {shlex.quote(file.target)} || stop {path}\n"
    if file.state == "directory":
        return f"folder {path} {file.mode} {owners} || stop {path}\n"
    text = base64.encodebytes(file.content).decode()
    return f"put {path} {file.mode} {owners} <<'{_END}' || stop {path}\n{text}{_END}\n"
