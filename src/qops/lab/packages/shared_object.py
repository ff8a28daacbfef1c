"""The smallest shared library that a loader knows by its name, and that does nothing."""

import struct

_MACHINES = {"amd64": 62, "arm64": 183}  # EM_X86_64, EM_AARCH64
_HEADER, _PROGRAM = 64, 56
_DYN, _LOAD, _DYNAMIC = 3, 1, 2
_STRTAB, _SYMTAB, _STRSZ, _SYMENT, _SONAME = 5, 6, 10, 11, 14
_SYMBOL = 24
_PAGE = 0x1000


def shared_object(soname: str, architecture: str, note: str) -> bytes:
    """Return a 64-bit ELF shared object with this DT_SONAME and no symbols; `note` stands at its end.

    ldconfig reads the name out of it and caches the library, as it does the vendor's.
    """
    strings = b"\0" + soname.encode() + b"\0"
    entries = 6
    dynamic_at = _HEADER + 2 * _PROGRAM
    symbols_at = dynamic_at + entries * 16
    strings_at = symbols_at + _SYMBOL
    end = strings_at + len(strings)
    tags = (
        (_STRTAB, strings_at), (_SYMTAB, symbols_at), (_STRSZ, len(strings)), (_SYMENT, _SYMBOL), (_SONAME, 1), (0, 0),
    )  # fmt: skip
    identity = b"\x7fELF" + bytes((2, 1, 1, 0)) + bytes(8)
    header = identity + struct.pack(
        "<HHIQQQIHHHHHH", _DYN, _MACHINES[architecture], 1, 0, _HEADER, 0, 0, _HEADER, _PROGRAM, 2, 64, 0, 0
    )
    load = struct.pack("<IIQQQQQQ", _LOAD, 6, 0, 0, 0, end, end, _PAGE)
    size = entries * 16
    dynamic = struct.pack("<IIQQQQQQ", _DYNAMIC, 6, dynamic_at, dynamic_at, dynamic_at, size, size, 8)
    table = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    return header + load + dynamic + table + bytes(_SYMBOL) + strings + note.encode() + b"\n"
