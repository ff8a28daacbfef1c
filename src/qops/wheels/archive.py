"""The Python files of a wheel, read by ranges: a few hundred kilobytes of an archive of hundreds of megabytes."""

import io
import ssl
import struct
import urllib.request
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Protocol

from qops.errors import UsageError
from qops.wheels.index import TIMEOUT_S, Wheel, fetch

_TAIL = 1 << 20  # bytes; holds the directory of members of most wheels
_GAP = 64 << 10  # bytes; nearer members are read in one request
_HEADER = 30  # bytes of a member's local header before its name (APPNOTE.TXT 4.3.7)


class Files(Protocol):
    """Python files by their path in a wheel."""

    def names(self) -> Iterable[str]:
        """Return all paths."""
        ...

    def text(self, path: str) -> str:
        """Return one file. Raises KeyError."""
        ...


class Remote:
    """Files in a wheel on an index; each is fetched when it is asked for, and kept."""

    def __init__(self, wheel: Wheel, context: ssl.SSLContext) -> None:
        self._wheel = wheel
        self._context = context
        self.read = 0  # bytes fetched
        self._members = {one.filename: one for one in self._directory() if one.filename.endswith(".py")}
        self._texts: dict[str, str] = {}

    def names(self) -> Iterable[str]:
        """Return the paths of all Python files."""
        return list(self._members)

    def text(self, path: str) -> str:
        """Return one file. Raises KeyError when the wheel has none, UsageError when it cannot be read."""
        if path not in self._texts:
            self.want([path])
        return self._texts[path]

    def want(self, paths: Iterable[str]) -> None:
        """Fetch several files in few requests. Raises KeyError."""
        missing = sorted((self._members[p] for p in paths if p not in self._texts), key=lambda m: m.header_offset)
        for group in _grouped(missing):
            begin = group[0].header_offset
            body = self._range(begin, _end(group[-1]))
            for member in group:
                self._texts[member.filename] = _unpacked(member, body, member.header_offset - begin)

    def _range(self, begin: int, end: int) -> bytes:
        body, _ = fetch(self._wheel.url, self._context, Range=f"bytes={begin}-{end - 1}")
        self.read += len(body)
        return body

    def _directory(self) -> list[zipfile.ZipInfo]:
        size = self._size()
        tail = min(_TAIL, size)
        while True:
            body = self._range(size - tail, size)
            mark = body.rfind(b"PK\x05\x06")
            if mark < 0:
                raise UsageError(f"{self._wheel.url} is no wheel")
            (begin,) = struct.unpack("<I", body[mark + 16 : mark + 20])
            if begin >= size - tail:
                break
            tail = size - begin
        # zipfile takes the directory for the start of the file, and shifts the members' offsets by what is missing.
        shift = size - tail
        with zipfile.ZipFile(io.BytesIO(body[begin - shift :])) as archive:
            members = archive.infolist()
        for member in members:
            member.header_offset += begin
        return members

    def _size(self) -> int:
        request = urllib.request.Request(self._wheel.url, method="HEAD")  # noqa: S310 - fetch() checks the scheme
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self._context) as answer:  # noqa: S310
            return int(answer.headers["Content-Length"])


def _end(member: zipfile.ZipInfo) -> int:
    # The local header's extra field may be longer than the directory's; the margin covers it.
    return member.header_offset + _HEADER + len(member.filename.encode()) + member.compress_size + 1024


def _grouped(members: list[zipfile.ZipInfo]) -> Iterator[list[zipfile.ZipInfo]]:
    group: list[zipfile.ZipInfo] = []
    for member in members:
        if group and member.header_offset - _end(group[-1]) > _GAP:
            yield group
            group = []
        group.append(member)
    if group:
        yield group


def _unpacked(member: zipfile.ZipInfo, body: bytes, at: int) -> str:
    name, extra = struct.unpack("<HH", body[at + 26 : at + 30])
    begin = at + _HEADER + name + extra
    packed = body[begin : begin + member.compress_size]
    plain = packed if member.compress_type == zipfile.ZIP_STORED else zlib.decompress(packed, -zlib.MAX_WBITS)
    if zlib.crc32(plain) != member.CRC:
        raise UsageError(f"{member.filename} came damaged")
    return plain.decode("utf-8")
