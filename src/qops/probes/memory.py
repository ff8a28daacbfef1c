"""The machine's main memory."""

from collections.abc import Sequence

from msgspec.structs import replace

from qops.errors import ParseError
from qops.evidence.kernel import Memory
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Probe, Read
from qops.probes.sizes import size

_MEMINFO = lazy(r"\s*(MemTotal|MemFree|MemAvailable|Cached|SwapTotal|SwapFree):\s+([0-9]{1,18}) kB\b")
# `free`: total used free shared buff/cache available; before procps 3.3.10 buffers and cached apart, no available.
_FREE_HEADER = lazy(r"^\s*total\s+used\s+free\s+shared\s+(buff/cache\s+available|buffers\s+cached)\s*$")
_FREE_ROW = lazy(r"^\s*Mem:((?:\s+[0-9]{1,18}(?:\.[0-9]{1,3})?[BKMGTP]?i?){6})\s*$")
_SWAP_ROW = lazy(r"^\s*Swap:((?:\s+[0-9]{1,18}(?:\.[0-9]{1,3})?[BKMGTP]?i?){3})\s*$")
_FREE_FLAG = lazy(r"\bfree\s+(?:-\w+\s+)*-(b|k|m|g)\b")
_FLAG_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def recognise(text: Text) -> bool:
    """Return whether `text` holds /proc/meminfo or the output of free."""
    return any(
        "Mem" in line and (_FREE_ROW.match(line) or line.lstrip().startswith("MemTotal:")) for line in text.lines
    )


def parse(texts: Sequence[Text]) -> Memory | None:
    """Return the memory of the first text that says its total; the host's own answer comes first."""
    for text in sorted(texts, key=lambda t: t.probe != PROBE.name):
        found = _meminfo(text) or _free(text)
        if found is not None:
            return found
        if text.probe == PROBE.name:
            raise ParseError(text.source, 0, "no MemTotal line")
    return None


def _meminfo(text: Text) -> Memory | None:
    values: dict[str, int] = {}
    first: int | None = None
    for index, line in enumerate(text.lines):
        if match := _MEMINFO.match(line):
            values.setdefault(match[1], int(match[2]) * 1024)
            first = index if match[1] == "MemTotal" and first is None else first
    if first is None:
        return None
    return Memory(
        total=values["MemTotal"],
        available=values.get("MemAvailable"),
        free=values.get("MemFree"),
        cached=values.get("Cached"),
        quote=text.quote(first),
        swap_total=values.get("SwapTotal"),
        swap_free=values.get("SwapFree"),
    )


def _free(text: Text) -> Memory | None:
    unit = 1024
    modern = True
    for index, line in enumerate(text.lines):
        if match := _FREE_FLAG.search(line):
            unit = _FLAG_UNITS[match[1]]
        elif match := _FREE_HEADER.match(line):
            modern = match[1].startswith("buff/")
        elif match := _FREE_ROW.match(line):
            total, _, free, _, cached, last = (size(column, unit) for column in match[1].split())
            if total is not None:
                memory = Memory(total, last if modern else None, free, cached if modern else last, text.quote(index))
                return replace(memory, **_swap(text, index, unit))
    return None


def _swap(text: Text, row: int, unit: int) -> dict[str, int | None]:
    """Return what the row after that of the memory says of swap; older procps prints one of buffers between them."""
    for line in text.lines[row + 1 : row + 3]:
        if match := _SWAP_ROW.match(line):
            total, _, free = (size(column, unit) for column in match[1].split())
            return {"swap_total": total, "swap_free": free}
    return {}


PROBE = Probe(
    name="memory",
    makes=Memory,
    parse=parse,
    recognise=recognise,
    asks=(Read("/proc/meminfo", "main memory, total and available"),),
)
