"""For which GPUs a library holds code: the targets of the fat binaries in it.

The role inference_image places this file on hosts, so it needs Python 3.9 and nothing else. Layout: a header (magic,
version, its size, size of what follows) and entries (kind, version, size of the entry's header, size of its code, …).
The bits for the targets with a suffix are not documented; they were found by giving one kernel, assembled for sm_90,
90a, 100a, 103f, 120, 120a, 120f and 121a, to fatbinary of CUDA 13.5, compressed and not.
"""

from __future__ import annotations

import struct
from typing import IO

_MAGIC = b"\x50\xed\x55\xba\x01\x00\x10\x00"  # 0xBA55ED50, version 1, a header of 16 bytes
_PTX, _ELF = 1, 2
_ARCHITECTURE_SPECIFIC, _FAMILY_SPECIFIC = 1 << 20, 1 << 21
_FIRST = 48  # bytes of an entry's header that are read
_CHUNK = 4 << 20
_LARGEST_HEADER = 1 << 16


def targets(file: IO[bytes]) -> dict[str, int]:
    """Return how often code is there for each target: "sm_120a" (machine code), "compute_90" (PTX).

    Reads the file once, from where it stands to its end, so that it may be a stream. What is damaged is left out.
    """
    reader = _Reader(file)
    found: dict[str, int] = {}
    while reader.find(_MAGIC):
        (left,) = struct.unpack("<Q", reader.take(8).ljust(8, b"\0"))
        while left >= _FIRST:
            head = reader.take(_FIRST)
            if len(head) < _FIRST:
                break
            kind, _, size, code = struct.unpack_from("<HHIQ", head)
            architecture, flags = struct.unpack_from("<I", head, 28)[0], struct.unpack_from("<Q", head, 40)[0]
            if kind not in (_PTX, _ELF) or not _FIRST <= size <= _LARGEST_HEADER or size + code > left:
                break
            name = _name(kind, architecture, flags)
            found[name] = found.get(name, 0) + 1
            reader.skip(size - _FIRST + code)
            left -= size + code
    return found


def _name(kind: int, architecture: int, flags: int) -> str:
    suffix = "a" if flags & _ARCHITECTURE_SPECIFIC else "f" if flags & _FAMILY_SPECIFIC else ""
    return f"{'sm' if kind == _ELF else 'compute'}_{architecture}{suffix}"


class _Reader:
    """A stream that is searched and skipped without being kept."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._kept = b""

    def take(self, count: int) -> bytes:
        """Return the next bytes; fewer at the end."""
        while len(self._kept) < count and (more := self._file.read(_CHUNK)):
            self._kept += more
        taken, self._kept = self._kept[:count], self._kept[count:]
        return taken

    def skip(self, count: int) -> None:
        """Pass over the next bytes."""
        count -= len(self.take(min(count, len(self._kept))))
        while count > 0 and (more := self._file.read(min(count, _CHUNK))):
            count -= len(more)

    def find(self, mark: bytes) -> bool:
        """Pass over everything up to the end of the next `mark`; return whether there is one."""
        while True:
            at = self._kept.find(mark)
            if at >= 0:
                self._kept = self._kept[at + len(mark) :]
                return True
            more = self._file.read(_CHUNK)
            if not more:
                return False
            self._kept = self._kept[-len(mark) + 1 :] + more
