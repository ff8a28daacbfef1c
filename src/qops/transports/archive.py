"""Foreign archives, read into memory: every count and size has a limit, and what could mislead is refused.

Tar is read here and not by `tarfile`: in the Python versions that hosts have, that module can be made to loop for
ever (CVE-2025-8194) or to take minutes for one header (CVE-2024-6232).
"""

import io
import re
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from qops.errors import BundleError
from qops.pattern import lazy
from qops.transports.packed import shown

MEMBERS = 10_000
UNPACKED = 512 << 20  # bytes, of all members; a bundle has a few megabytes
NAME = 1024  # characters of a member's name
_EXTENDED = 64 << 10  # bytes of one extended header
_DIRECTORY = 8 << 20  # bytes of a zip's directory: room for 10,000 members with long names
_HINT = "unpack it, look at what it holds, and give the folder"
_RECORD = lazy(rb"(\d{1,6}) ([^=\n]{1,256})=")
_KINDS = {
    b"1": "a link",
    b"2": "a link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"S": "a file with holes",
    b"K": "a link",
}


def safe_name(raw: str, archive: str) -> str:
    """Return the plain relative form of a member's name; BundleError when it leads out of the archive."""
    parts = [part for part in raw.split("/") if part not in ("", ".")]
    if raw.startswith("/") or ".." in parts or "\0" in raw or len(raw) > NAME:
        raise BundleError(f"{archive} holds a file with an unsafe name: {shown(raw)}", _HINT)
    return shown("/".join(parts), NAME)


def tar(blocks: Iterable[bytes], name: str) -> dict[str, bytes]:
    """Return the files of a tar; `name` is what errors call it. BundleError when it is damaged or not safe."""
    return _unique(_tar(_Stream(blocks, name), name), name)


def unzip(file: BinaryIO, name: str) -> dict[str, bytes]:
    """Return the files of a zip; `name` is what errors call it. BundleError when it is damaged or not safe."""
    return _unique(_zip(file, name), name)


def _unique(members: Iterator[tuple[str, bytes]], name: str) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for member, data in members:
        if member in files:
            raise BundleError(f"{name} holds {shown(member)} twice", _HINT)
        files[member] = data
    return files


class _Stream:
    """Bytes in the portions that a tar has, from blocks of any size."""

    def __init__(self, blocks: Iterable[bytes], name: str) -> None:
        self.blocks = iter(blocks)
        self.name = name
        self.block = b""
        self.at = 0  # what of `block` has been taken
        self.seen = 0

    def take(self, size: int) -> bytes:
        """Return `size` bytes, or less at the end."""
        self.seen += size
        if self.seen > UNPACKED:
            raise BundleError(f"{self.name} unpacks to more than {UNPACKED >> 20} MiB", _HINT)
        parts: list[bytes] = []
        while size > 0:
            if self.at == len(self.block):
                self.block, self.at = next(self.blocks, b""), 0
                if not self.block:
                    break
            parts.append(self.block[self.at : self.at + size])
            self.at += len(parts[-1])
            size -= len(parts[-1])
        return b"".join(parts)

    def padded(self, size: int) -> bytes:
        """Return `size` bytes that are stored in whole records of 512 bytes."""
        data = self.take(-(-size // 512) * 512)[:size]
        if len(data) < size:
            raise BundleError(f"{self.name} ends early")
        return data


def _tar(stream: _Stream, name: str) -> Iterator[tuple[str, bytes]]:
    count = 0
    long_name: str | None = None
    while True:
        header = stream.take(512)
        if not header.strip(b"\0"):
            return
        if len(header) < 512:
            raise BundleError(f"{name} ends early")
        count += 1
        if count > MEMBERS:
            raise BundleError(f"{name} holds more than {MEMBERS} files", _HINT)
        size = _number(header[124:136])
        if size is None or _number(header[148:156]) != sum(header) - sum(header[148:156]) + 8 * 32:
            raise BundleError(f"{name} is damaged: a header is not one of a tar")
        kind = header[156:157]
        if kind in b"LxgX" and kind:
            if size > _EXTENDED:
                raise BundleError(f"{name} holds a header of {size} bytes, which no file needs", _HINT)
            extended = stream.padded(size)
            if kind == b"L":
                long_name = _decoded(extended)
            elif kind == b"x":
                long_name = _pax_name(extended, name) or long_name
            continue
        member = safe_name(long_name if long_name is not None else _short_name(header), name)
        long_name = None
        if kind == b"5":
            continue
        if kind not in (b"0", b"\0", b"7"):
            raise BundleError(f"{name} holds {_KINDS.get(kind, 'something that is no file')}: {shown(member)}", _HINT)
        data = stream.padded(size)
        if member:
            yield member, data


def _number(raw: bytes) -> int | None:
    """Return a number of a header: octal digits, or binary when the first bit is set (GNU)."""
    if raw[0] == 0x80:
        return int.from_bytes(raw[1:], "big")
    digits = raw.strip(b" \0")
    return int(digits or b"0", 8) if re.fullmatch(rb"[0-7]*", digits) else None


def _decoded(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")


def _short_name(header: bytes) -> str:
    prefix = _decoded(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{_decoded(header[:100])}" if prefix else _decoded(header[:100])


def _pax_name(extended: bytes, name: str) -> str:
    """Return the path in a pax header. A size or a map of holes there would contradict the header proper."""
    path = ""
    at = 0
    while record := _RECORD.match(extended, at):
        key, end = record[2], at + int(record[1])
        if key == b"size" or key.startswith(b"GNU.sparse"):
            raise BundleError(f"{name} holds a file of more than 8 GiB or with holes", _HINT)
        if key == b"path":
            path = extended[record.end() : end - 1].decode(errors="replace")
        if end <= record.end():
            break
        at = end
    return path


def _zip(file: BinaryIO, name: str) -> Iterator[tuple[str, bytes]]:
    import zipfile  # few evidence is a zip, and the module costs every start

    _check_directory(file, name)
    unpacked = 0
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > MEMBERS:
                raise BundleError(f"{name} holds more than {MEMBERS} files", _HINT)
            for entry in entries:
                member = safe_name(entry.filename, name)
                if entry.is_dir():
                    continue
                mode = entry.external_attr >> 16
                if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                    raise BundleError(f"{name} holds a link or a device: {shown(member)}", _HINT)
                if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise BundleError(f"{name} is encrypted or packed in a way that qops does not read", _HINT)
                data = io.BytesIO()
                with archive.open(entry) as packed:
                    while block := packed.read(1 << 20):
                        unpacked += len(block)
                        if unpacked > UNPACKED:
                            raise BundleError(f"{name} unpacks to more than {UNPACKED >> 20} MiB", _HINT)
                        data.write(block)
                yield member, data.getvalue()
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, struct.error) as error:
        raise BundleError(f"{name} is damaged: {shown(str(error), 200)}") from None


def _check_directory(file: BinaryIO, name: str) -> None:
    """Refuse a zip whose directory is huge: `zipfile` would read it whole before anything can be counted."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 65_557 - 20))  # the end record, the longest comment, and where a zip64 locator would be
    end = file.read()
    file.seek(0)
    at = end.rfind(b"PK\x05\x06")
    if at < 0 or len(end) < at + 22:
        raise BundleError(f"{name} is damaged: the end of a zip is missing")
    directory = struct.unpack_from("<I", end, at + 12)[0]
    if directory > _DIRECTORY or b"PK\x06\x07" in end:
        raise BundleError(f"{name} holds more than {MEMBERS} files", _HINT)
