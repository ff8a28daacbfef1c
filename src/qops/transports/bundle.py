"""Bundles: what a host answered, recorded raw, and read again as if the host had been asked.

A bundle is a tar.gz (or a zip, a tar of another packing, or a folder) of `index.json` and one file for each answer.
`bundle_writer` writes one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from qops import __version__
from qops.errors import BundleError
from qops.evidence.clock import HostClock
from qops.transports.answer import Answer, Collection, collection, interpret
from qops.transports.archive import MEMBERS, UNPACKED, safe_name
from qops.transports.base import Completed
from qops.transports.packed import shown
from qops.transports.reduce import Find

FORMAT = 1
INDEX = "index.json"
INDEX_SIZE = 8 << 20  # bytes
_FAILURES = ("", "timeout", "missing", "denied", "failed", "cut")


_Number = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer in the index."""

    source: str
    argv: tuple[str, ...] = ()
    path: str = ""
    probe: str = ""
    file: str = ""
    stderr: str = ""
    status: _Number | None = None
    seconds: float = 0.0
    at: float | None = None
    failure: str = ""
    discarded: _Number = 0
    binary: bool = False


class Index(msgspec.Struct, frozen=True):
    """What `index.json` says."""

    format: int
    qops: str
    host: str
    collected: str
    answers: tuple[Entry, ...]
    interrupted: bool = False
    clock: HostClock | None = None


class _Format(msgspec.Struct, frozen=True):
    format: int


def index_of(names: Mapping[str, object]) -> str:
    """Return the name of the index among files: at the top, or in the only folder there; "" when it is no bundle."""
    if INDEX in names:
        return INDEX
    tops = {name.split("/", 1)[0] for name in names}
    nested = f"{next(iter(tops))}/{INDEX}" if len(tops) == 1 else ""
    return nested if nested in names else ""


def replay(files: Mapping[str, bytes], name: str, find: Find) -> Collection:
    """Make the collection that was recorded as `files`; `name` is what errors call the bundle."""
    index, answers = raw(files, name)
    return collection(
        (interpret(answer, find) for answer in answers),
        host=shown(index.host, 255),
        collected_at=shown(index.collected),
        interrupted=index.interrupted,
        clock=index.clock,
    )


def raw(files: Mapping[str, bytes], name: str) -> tuple[Index, list[Answer]]:
    """Return what was recorded as `files`, as the host answered it; `name` is what errors call the bundle."""
    at = index_of(files)
    index = _decode(files[at], name)
    folder = at.removesuffix(INDEX)

    def content(file: str) -> bytes:
        if not file:
            return b""
        try:
            return files[folder + safe_name(file, name)]
        except KeyError:
            raise BundleError(f"{name} is damaged: {shown(file)} is in its index and not in it") from None

    answers = [
        Answer(
            shown(entry.source, 1000),
            Completed(
                content(entry.file),
                content(entry.stderr),
                entry.status,
                entry.seconds,
                entry.failure if entry.failure in _FAILURES else "failed",
                entry.discarded,
            ),
            argv=entry.argv,
            path=entry.path,
            probe=shown(entry.probe),
            at=entry.at,
            binary=entry.binary,
            number=number,
        )
        for number, entry in enumerate(index.answers)
    ]
    return index, answers


def files_in(folder: Path, name: str) -> dict[str, bytes] | None:
    """Return the files that the index in `folder` names, or None when the folder is no bundle."""
    raw = _file(folder / INDEX, INDEX_SIZE + 1)
    if raw is None or b'"format"' not in raw or b'"answers"' not in raw:
        return None
    files = {INDEX: raw}
    left = UNPACKED
    root = folder.resolve()
    for entry in _decode(raw, name).answers:
        for file in (entry.file, entry.stderr):
            safe = safe_name(file, name)
            if not safe or safe in files:
                continue
            if not (folder / safe).resolve().is_relative_to(root):
                raise BundleError(f"{name} holds a link that leads out of it: {shown(safe)}")
            data = _file(folder / safe, left + 1)
            if data is None:
                continue  # `replay` says which file is missing
            left -= len(data)
            if left < 0:
                raise BundleError(f"{name} holds more than {UNPACKED >> 20} MiB")
            files[safe] = data
    return files


def _file(path: Path, limit: int) -> bytes | None:
    """Return the first `limit` bytes of a regular file, or None when it is not one."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return file.read(limit)
    except OSError:
        return None


def _decode(raw: bytes, name: str) -> Index:
    if len(raw) > INDEX_SIZE:
        raise BundleError(f"{name} has an index of more than {INDEX_SIZE >> 20} MiB, which no bundle has")
    try:
        found = msgspec.json.decode(raw, type=_Format).format
        if found != FORMAT:
            raise BundleError(f"{name} has format {found}, and this qops {__version__} reads {FORMAT}", "update qops")
        index = msgspec.json.decode(raw, type=Index)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else shown(str(error), 200)
        raise BundleError(f"{name} is not a bundle: its index cannot be read ({reason})") from None
    if len(index.answers) > MEMBERS:
        raise BundleError(f"{name} has an index of more than {MEMBERS} answers")
    return index
