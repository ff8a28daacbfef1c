"""Bundles: what a host answered, recorded raw, and read again as if the host had been asked.

A bundle is a tar.gz (or a zip, a tar of another packing, or a folder) of `index.json` and one file for each answer.
"""

import contextlib
import gzip
import io
import os
import tarfile
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Annotated, BinaryIO

import msgspec

from qops import __version__
from qops.errors import BundleError
from qops.redaction import Redactor
from qops.transports.answer import Answer, Collection, collection
from qops.transports.archive import MEMBERS, UNPACKED, safe_name
from qops.transports.base import Completed
from qops.transports.packed import shown
from qops.transports.reduce import Find

FORMAT = 1
INDEX = "index.json"
INDEX_SIZE = 8 << 20  # bytes
_ROOM = UNPACKED - (32 << 20)  # bytes of answers that are written, so that the bundle can be read again
_FAILURES = ("", "timeout", "missing", "denied", "failed", "cut")


_Number = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
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


class _Index(msgspec.Struct, frozen=True):
    format: int
    qops: str
    host: str
    collected: str
    answers: tuple[_Entry, ...]
    interrupted: bool = False


class _Format(msgspec.Struct, frozen=True):
    format: int


class Writer:
    """Writes a bundle, answer by answer; a file that only its owner can read appears when all is written.

    Secrets are taken out of every answer and every word of the index; the bytes of binary files stay as they are.
    `replaced` says how many there were, by kind. When the block that the writer guards is left by an exception
    (Ctrl-C too), no file is left behind.
    """

    def __init__(
        self, path: str | Path, host: str, *, collected_at: str = "", redactor: Redactor | None = None
    ) -> None:
        self.interrupted = False  # set it when the collection was
        self._path = Path(path)
        self._host = host
        self._collected_at = collected_at or datetime.now(UTC).isoformat(timespec="seconds")
        self._redact = redactor or Redactor()
        self._entries: list[tuple[int, _Entry]] = []
        self._bytes = 0
        self._part: Path | None = None

    @property
    def replaced(self) -> Mapping[str, int]:
        """How many secrets were replaced, by kind."""
        return self._redact.counts

    def __enter__(self) -> "Writer":
        try:
            # mkstemp makes the file with mode 0600
            number, part = tempfile.mkstemp(prefix=f".{self._path.name}.", suffix=".part", dir=self._path.parent)
        except OSError as error:
            raise BundleError(f"cannot write {self._path}: {error.strerror}") from None
        self._part = Path(part)
        self._file: BinaryIO = os.fdopen(number, "wb")
        self._gzip = gzip.GzipFile(filename="", fileobj=self._file, mode="wb", compresslevel=6)
        self._tar = tarfile.open(fileobj=self._gzip, mode="w|", format=tarfile.USTAR_FORMAT)
        return self

    def add(self, answer: Answer) -> None:
        """Write one answer."""
        done = answer.completed
        stdout = done.stdout if answer.binary else self._redact(done.stdout)
        stderr = self._redact(done.stderr)
        failure = done.failure
        if self._bytes + len(stdout) + len(stderr) > _ROOM or 2 * len(self._entries) > MEMBERS - 4:
            stdout, stderr, failure = b"", b"left out: the bundle would be too large to be read", "failed"
        stem = f"answers/{len(self._entries) + 1:04d}"
        entry = _Entry(
            source=self._clean(answer.source),
            argv=tuple(self._clean(word) for word in answer.argv),
            path=self._clean(answer.path),
            probe=answer.probe,
            file=self._save(f"{stem}.{'bin' if answer.binary else 'txt'}", stdout),
            stderr=self._save(f"{stem}.stderr.txt", stderr),
            status=done.status,
            seconds=round(done.seconds, 3),
            at=answer.at,
            failure=failure,
            discarded=done.discarded,
            binary=answer.binary,
        )
        self._entries.append((answer.number, entry))

    def _clean(self, word: str) -> str:
        return self._redact(word.encode(errors="replace")).decode(errors="replace")

    def _save(self, name: str, data: bytes) -> str:
        """Write a file, and return its name; an empty one is not written."""
        if not data:
            return ""
        self._bytes += len(data)
        info = tarfile.TarInfo(name)
        info.size = len(data)
        info.mode = 0o600
        info.mtime = int(time.time())
        self._tar.addfile(info, io.BytesIO(data))
        return name

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        part, self._part = self._part, None
        if part is None:
            return
        try:
            if kind is None:
                self._finish(part)
        except OSError as problem:
            raise BundleError(f"cannot write {self._path}: {problem.strerror}") from None
        finally:
            with contextlib.suppress(OSError, ValueError):  # what could not be written goes anyway
                self._tar.close()
                self._gzip.close()
            self._file.close()
            part.unlink(missing_ok=True)

    def _finish(self, part: Path) -> None:
        entries = tuple(entry for _, entry in sorted(self._entries, key=lambda pair: pair[0]))
        index = _Index(FORMAT, __version__, self._clean(self._host), self._collected_at, entries, self.interrupted)
        self._save(INDEX, msgspec.json.format(msgspec.json.encode(index), indent=1))
        self._tar.close()
        self._gzip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        part.replace(self._path)


def index_of(names: Mapping[str, object]) -> str:
    """Return the name of the index among files: at the top, or in the only folder there; "" when it is no bundle."""
    if INDEX in names:
        return INDEX
    tops = {name.split("/", 1)[0] for name in names}
    nested = f"{next(iter(tops))}/{INDEX}" if len(tops) == 1 else ""
    return nested if nested in names else ""


def replay(files: Mapping[str, bytes], name: str, find: Find) -> Collection:
    """Make the collection that was recorded as `files`; `name` is what errors call the bundle."""
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
    return collection(
        answers,
        find,
        host=shown(index.host, 255),
        collected_at=shown(index.collected),
        interrupted=index.interrupted,
    )


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


def _decode(raw: bytes, name: str) -> _Index:
    if len(raw) > INDEX_SIZE:
        raise BundleError(f"{name} has an index of more than {INDEX_SIZE >> 20} MiB, which no bundle has")
    try:
        found = msgspec.json.decode(raw, type=_Format).format
        if found != FORMAT:
            raise BundleError(f"{name} has format {found}, and this qops {__version__} reads {FORMAT}", "update qops")
        index = msgspec.json.decode(raw, type=_Index)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else shown(str(error), 200)
        raise BundleError(f"{name} is not a bundle: its index cannot be read ({reason})") from None
    if len(index.answers) > MEMBERS:
        raise BundleError(f"{name} has an index of more than {MEMBERS} answers")
    return index
