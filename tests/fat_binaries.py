"""Fat binaries as fatbinary of CUDA 13.5 writes them (headers measured), around code that is none."""

import struct

SUFFIX = {"a": 1 << 20, "f": 1 << 21}


def entry(target: str, code: bytes = b"x" * 904) -> bytes:
    """Return one entry: "sm_120a" or "compute_90"."""
    kind, _, number = target.partition("_")
    flags = 0x8011 | SUFFIX.get(number[-1], 0)
    head = struct.pack("<HHIQ", 2 if kind == "sm" else 1, 0x101, 64, len(code))
    head += struct.pack("<IIII", len(code) - 3, 0, 65544, int(number.rstrip("af"))) + bytes(8)
    return head + struct.pack("<QQQ", flags, 0, 4986) + code


def fatbin(*targets: str) -> bytes:
    """Return one fat binary."""
    entries = b"".join(entry(target) for target in targets)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def library(*targets: str) -> bytes:
    """Return a library of a size that real ones have, with one fat binary for each target."""
    return b"\x7fELF" + b"\0" * 70_000 + b"".join(fatbin(target) + b"\0" * 12 for target in targets)
