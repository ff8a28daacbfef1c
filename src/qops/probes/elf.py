"""What the bytes of a shared library say: the forward compatibility note of libcuda, and NCCL's version."""

import json
import struct

from msgspec import Struct

from qops.pattern import lazy

_NOTE = b".note.cuda.fwd_compatibility"
_OWNER = b"NVIDIA Corporation"
_MOST_SECTIONS = 4096
# NCCL keeps this text for its version banner, e.g. `NCCL version 2.28.9+cuda13.0`.
_NCCL = lazy(rb"NCCL version ([0-9]{1,2}\.[0-9]{1,3}\.[0-9]{1,3})(\+cuda[0-9]{1,2}\.[0-9]{1,2})?")
_JSON = lazy(r"\{[^{}]{0,4000}\}")


class CompatNote(Struct, frozen=True):
    """The note `.note.cuda.fwd_compatibility`: the kernel drivers (majors) on which a compat libcuda may run.

    NVIDIA's container toolkit reads it to decide whether to use the library (cmd/nvidia-cdi-hook/cudacompat).
    """

    cuda: str  # "13.0"
    drivers: tuple[int, ...]


def is_elf(data: bytes) -> bool:
    """Return whether `data` is the start of an ELF file."""
    return data[:4] == b"\x7fELF"


def compat_note(data: bytes) -> CompatNote | None:
    """Return the note of a libcuda, or None when the file has none or is damaged."""
    section = _section(data, _NOTE)
    if section is None or len(section) < 12:
        return None
    order = "<" if data[5] == 1 else ">"
    name_size, size, _ = struct.unpack_from(f"{order}III", section)
    if name_size > 256 or section[12 : 12 + name_size].strip(b"\0") != _OWNER:
        return None
    start = 12 + (name_size + 3) // 4 * 4
    return note_from_json(section[start : start + size].strip(b"\0").decode("utf-8", errors="replace"))


def note_from_json(text: str) -> CompatNote | None:
    """Return the note from its JSON text, `{"format":1,"CUDA version":"13.0","driver":[535,550],"device":[7,8]}`."""
    match = _JSON.search(text)
    if match is None:
        return None
    try:
        values = json.loads(match[0])
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    lowered = {str(key).lower(): value for key, value in values.items()}
    drivers, cuda = lowered.get("driver"), lowered.get("cuda version")
    if not isinstance(drivers, list) and not isinstance(cuda, str):
        return None
    majors = drivers if isinstance(drivers, list) else []
    return CompatNote(str(cuda or "")[:20], tuple(d for d in majors if type(d) is int and 0 < d < 100_000))


def nccl_version(data: bytes) -> str:
    """Return the version that a libnccl says of itself ("2.28.9"), or ""."""
    match = _NCCL.search(data)
    return match[1].decode("ascii") if match else ""


def _section(data: bytes, name: bytes) -> bytes | None:
    """Return the bytes of the section called `name` (System V ABI, chapter 4; 32 and 64 bits, both byte orders)."""
    if not is_elf(data) or len(data) < 52 or data[4] not in (1, 2) or data[5] not in (1, 2):
        return None
    order = "<" if data[5] == 1 else ">"
    # e_shoff, then e_shentsize, e_shnum, e_shstrndx; and of each header sh_name, sh_offset, sh_size.
    if data[4] == 2:
        kind, offset_at, counts_at, header, minimum = "Q", 40, 58, "IIQQQQ", 64
    else:
        kind, offset_at, counts_at, header, minimum = "I", 32, 46, "IIIIII", 40
    try:
        (table,) = struct.unpack_from(order + kind, data, offset_at)
        entry, count, names_index = struct.unpack_from(f"{order}HHH", data, counts_at)
        if entry < minimum or not 0 < count <= _MOST_SECTIONS or names_index >= count:
            return None
        heads = [struct.unpack_from(order + header, data, table + i * entry) for i in range(count)]
    except (struct.error, OverflowError):
        return None
    names = data[heads[names_index][4] : heads[names_index][4] + heads[names_index][5]]
    for head in heads:
        end = names.find(b"\0", head[0])
        if end >= 0 and names[head[0] : end] == name:
            return data[head[4] : head[4] + head[5]]
    return None
