"""Compressed files, unpacked as bounded streams: every byte is counted, and nothing is written to disk."""

import bz2
import gzip
import lzma
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol, cast

from qops.errors import BundleError
from qops.transports.base import clean
from qops.transports.reduce import BLOCK

UNPACKED = 16 << 30  # bytes of one log; it is reduced as it comes, so this bounds time and not memory
RATIO = 200  # unpacked to packed; logs reach 50
RATIO_FROM = 64 << 20  # bytes unpacked before the ratio counts
_CHUNK = 256 << 10
_MEMORY = 128 << 20  # bytes that xz and zstd may use; the highest preset of xz needs 65 MiB

_MAGIC = {b"\x1f\x8b": "gz", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zst", b"BZh": "bz2", b"PK\x03\x04": "zip"}


class Source(Protocol):
    """What can be read: a file, a pipe, bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""
        ...


class _Decompressor(Protocol):
    eof: bool
    needs_input: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def packing(head: bytes) -> str:
    """Return how a file that begins with `head` (512 bytes) is packed: gz, xz, zst, bz2, zip, tar, or "" for not."""
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    return "tar" if head[257:262] == b"ustar" else ""


def shown(name: str, limit: int = 80) -> str:
    """Return a file's name as it may be printed."""
    plain = clean(name.encode(errors="replace").decode(errors="replace"))
    return plain.replace("\n", " ").replace("\t", " ")[:limit]


def inflate(source: Source, kind: str, name: str) -> Iterator[bytes]:
    """Yield what `source` holds, unpacked as `kind` says, in blocks of at most 2 MiB.

    BundleError is raised when it is damaged or ends early, and when it unpacks to more than any log does.
    """
    counted = _Counted(source)
    unpacked = 0
    try:
        for block in _UNPACK[kind](counted):
            unpacked += len(block)
            if unpacked > UNPACKED:
                raise BundleError(f"{name} has more than {UNPACKED >> 30} GiB, and the rest was not read")
            if kind and unpacked > RATIO_FROM and unpacked > RATIO * counted.seen:
                raise BundleError(f"{name} unpacks to more than {RATIO} times its size, which no log does")
            yield block
    except EOFError:
        raise BundleError(f"{name} ends early") from None
    except FileNotFoundError:
        raise BundleError(f"{name} can only be unpacked by the program zstd, which is not there") from None
    except (OSError, zlib.error, lzma.LZMAError, ValueError, MemoryError) as error:
        raise BundleError(f"{name} is damaged: {shown(str(error), 200)}") from None


class _Counted:
    """Counts the packed bytes that are read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.seen = 0

    def read(self, size: int = _CHUNK, /) -> bytes:
        data = self.source.read(size if size >= 0 else _CHUNK)
        self.seen += len(data)
        return data


def _plain(source: _Counted) -> Iterator[bytes]:
    while block := source.read(BLOCK):
        yield block


def _gz(source: _Counted) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=source, mode="rb") as unpacked:  # type: ignore[call-overload]  # it only calls read
        while block := unpacked.read1(BLOCK):
            yield block


def _xz(source: _Counted) -> Iterator[bytes]:
    return _streams(source, lambda: cast(_Decompressor, lzma.LZMADecompressor(memlimit=_MEMORY)))


def _bz2(source: _Counted) -> Iterator[bytes]:
    return _streams(source, lambda: cast(_Decompressor, bz2.BZ2Decompressor()))


def _streams(source: _Counted, make: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Unpack one stream after the other: several in a file are one text."""
    stream = make()
    while True:
        if stream.eof:
            data = stream.unused_data or source.read(_CHUNK)
            if not data.strip(b"\0"):  # the end, or the padding that xz allows there
                return
            stream = make()
        elif stream.needs_input:
            data = source.read(_CHUNK)
            if not data:
                raise EOFError
        else:
            data = b""
        block = stream.decompress(data, BLOCK)
        if block:
            yield block


def _zst(source: _Counted) -> Iterator[bytes]:
    """Let the program do it: Python cannot before 3.14."""
    import subprocess  # few bundles are packed like this

    command = ("zstd", "-dcq", f"--memory={_MEMORY >> 20}MB")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0) as process:
        into, result = process.stdin, process.stdout
        if into is None or result is None:
            return

        def feed() -> None:
            try:
                while chunk := source.read(_CHUNK):
                    into.write(chunk)
                into.close()
            except (OSError, ValueError):
                return  # zstd has ended: its status says why

        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        try:
            while block := result.read(BLOCK):
                yield block
            if process.wait():
                raise EOFError
        finally:
            process.kill()
            feeder.join(1.0)


_UNPACK: dict[str, Callable[[_Counted], Iterator[bytes]]] = {
    "": _plain,
    "tar": _plain,
    "gz": _gz,
    "xz": _xz,
    "bz2": _bz2,
    "zst": _zst,
}
