"""A shared library as small as one can be, with the note that NVIDIA puts into its compat libcuda."""

import struct

JSON = b'{"format":1,"CUDA version":"13.0","driver":[535,550,570,575],"device":[1,2,7,8,9]}'


def library(*, bits: int = 64, order: str = "<", note: bytes = JSON, owner: bytes = b"NVIDIA Corporation") -> bytes:
    """Make the smallest ELF file that has the note."""
    name = owner + b"\0"
    padded = name.ljust((len(name) + 3) // 4 * 4, b"\0")
    content = struct.pack(f"{order}III", len(name), len(note), 1) + padded + note.ljust((len(note) + 3) // 4 * 4, b"\0")
    names = b"\0.note.cuda.fwd_compatibility\0.shstrtab\0"
    start = 64 if bits == 64 else 52
    table = start + len(content) + len(names)
    where = {
        "note": (1, 7, start, len(content)),
        "names": (names.index(b".shstrtab"), 3, start + len(content), len(names)),
    }
    if bits == 64:
        heads = b"".join(
            struct.pack(f"{order}IIQQQQIIQQ", n, kind, 0, 0, offset, size, 0, 0, 4, 0)
            for n, kind, offset, size in ((0, 0, 0, 0), *where.values())
        )
        tail = struct.pack(f"{order}HHIQQQIHHHHHH", 3, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    else:
        heads = b"".join(
            struct.pack(f"{order}IIIIIIIIII", n, kind, 0, 0, offset, size, 0, 0, 4, 0)
            for n, kind, offset, size in ((0, 0, 0, 0), *where.values())
        )
        tail = struct.pack(f"{order}HHIIIIIHHHHHH", 3, 3, 1, 0, 0, table, 0, 52, 0, 0, 40, 3, 2)
    ident = b"\x7fELF" + bytes((2 if bits == 64 else 1, 1 if order == "<" else 2, 1)) + bytes(9)
    return ident + tail + content + names + heads
