"""Writing a bundle: answer by answer, without secrets, and whole or not at all."""

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
from typing import BinaryIO

import msgspec

from qops import __version__
from qops.errors import BundleError
from qops.evidence.clock import HostClock
from qops.redaction import Redactor
from qops.transports.answer import Answer
from qops.transports.archive import MEMBERS, UNPACKED
from qops.transports.bundle import FORMAT, INDEX, Entry, Index

REPLACED = "redaction.json"
_ROOM = UNPACKED - (32 << 20)  # bytes of answers that are written, so that the bundle can be read again


class Replaced(msgspec.Struct, frozen=True):
    """How many secrets of a kind were replaced in the answer that is quoted as `where`."""

    where: str
    kind: str
    replaced: int


class Report(msgspec.Struct, frozen=True):
    """What `redaction.json` says."""

    format: int
    replaced: list[Replaced]


def _replaced(report: bytes) -> list[Replaced]:
    try:
        return msgspec.json.decode(report, type=Report).replaced if report else []
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return []  # of another qops, or damaged: the bundle is worth more than it


class Writer:
    """Writes a bundle, answer by answer; a file that only its owner can read appears when all is written.

    Secrets are taken out of every answer and every word of the index; the bytes of binary files stay as they are.
    `replaced` says how many there were, by kind; `redaction.json` in the bundle says it too, with where. When the
    block that the writer guards is left by an exception (Ctrl-C too), no file is left behind.
    """

    def __init__(
        self,
        path: str | Path,
        host: str,
        *,
        collected_at: str = "",
        redactor: Redactor | None = None,
        before: bytes = b"",
    ) -> None:
        self.interrupted = False  # set it when the collection was
        self.clock: HostClock | None = None  # set it to the collection's
        self._path = Path(path)
        self._host = host
        self._collected_at = collected_at or datetime.now(UTC).isoformat(timespec="seconds")
        self._redact = redactor or Redactor()
        self._before = before  # the report of what was replaced when the bundle was first written
        self._entries: list[tuple[int, Entry]] = []
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
        source = self._clean(answer.source)
        stdout = done.stdout if answer.binary else self._redact(done.stdout, source)
        stderr = self._redact(done.stderr, source)
        failure = done.failure
        if self._bytes + len(stdout) + len(stderr) > _ROOM or 2 * len(self._entries) > MEMBERS - 4:
            stdout, stderr, failure = b"", b"left out: the bundle would be too large to be read", "failed"
        stem = f"answers/{len(self._entries) + 1:04d}"
        entry = Entry(
            source=source,
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

    def _report(self) -> bytes:
        """Return what was replaced, for whoever gets the bundle: how many secrets of which kind, and where."""
        rows = _replaced(self._before)
        for (where, kind), count in sorted(self._redact.places.items()):
            rows.append(Replaced(where or INDEX, kind, count))
        return msgspec.json.format(msgspec.json.encode(Report(1, rows)), indent=1)

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
        index = Index(
            FORMAT, __version__, self._clean(self._host), self._collected_at, entries, self.interrupted, self.clock
        )
        self._save(REPLACED, self._report())
        self._save(INDEX, msgspec.json.format(msgspec.json.encode(index), indent=1))
        self._tar.close()
        self._gzip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        part.replace(self._path)
