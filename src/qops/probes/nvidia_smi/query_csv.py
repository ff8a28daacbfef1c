"""`nvidia-smi --query-gpu=… --format=csv`: any columns in any order, with or without header and units."""

import re
from collections.abc import Iterator

from msgspec import Struct

from qops.evidence.gpu import GpuProcess
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.candidates import lines_with
from qops.probes.nvidia_smi.fields import Converter, gpu_id
from qops.probes.nvidia_smi.quantity import bus, number, reasons, size, whole, word, yes
from qops.probes.nvidia_smi.reading import Answer, Reading
from qops.probes.nvidia_smi.stamp import seconds
from qops.probes.prefix import strip

# Properties of `nvidia-smi --help-query-gpu`, old names beside new ones.
COLUMNS: dict[str, tuple[str, Converter]] = {
    "name": ("name", word),
    "gpu_name": ("name", word),
    "pci.bus_id": ("bus_id", bus),
    "gpu_bus_id": ("bus_id", bus),
    "uuid": ("uuid", gpu_id),
    "gpu_uuid": ("uuid", gpu_id),
    "compute_cap": ("compute_capability", word),
    "memory.total": ("memory_total", size),
    "memory.used": ("memory_used", size),
    "utilization.gpu": ("utilization", whole),
    "utilization.memory": ("memory_utilization", whole),
    "power.draw": ("power", number),
    "power.draw.average": ("power", number),
    "power.draw.instant": ("power", number),
    "power.limit": ("power_limit", number),
    "enforced.power.limit": ("power_limit", number),
    "power.default_limit": ("power_limit_default", number),
    "power.min_limit": ("power_limit_min", number),
    "power.max_limit": ("power_limit_max", number),
    "temperature.gpu": ("temperature", whole),
    "clocks.current.sm": ("sm_clock", whole),
    "clocks.sm": ("sm_clock", whole),
    "clocks.max.sm": ("sm_clock_max", whole),
    "pstate": ("pstate", word),
    "pcie.link.gen.current": ("link_gen", whole),
    "pcie.link.gen.gpucurrent": ("link_gen", whole),
    "pcie.link.gen.max": ("link_gen_max", whole),
    "pcie.link.width.current": ("link_width", whole),
    "pcie.link.width.max": ("link_width_max", whole),
    "persistence_mode": ("persistence", yes),
    "ecc.errors.uncorrected.volatile.total": ("ecc_uncorrected", whole),
    "remapped_rows.pending": ("remap_pending", yes),
    "remapped_rows.failure": ("remap_failed", yes),
    "fabric.state": ("fabric_state", word),
    "fabric.status": ("fabric_status", word),
    "gpu_recovery_action": ("recovery_action", word),
    "addressing_mode": ("addressing_mode", word),
}
_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_REASON = lazy(r"clocks_(?:event|throttle)_reasons\.([a-z_]{2,40})")
_OTHER = ("index", "timestamp", "driver_version", "count", "pid", "process_name", "used_memory", "used_gpu_memory")
_KNOWN = frozenset(COLUMNS) | frozenset(_REASONS) | frozenset(_OTHER)
_ASKED = lazy(r"--query-(gpu|compute-apps)[= ]([a-z0-9_.,]{2,2000})")
_MOST_COLUMNS = 200
_FAILED = lazy(r"No devices|NVIDIA-SMI has failed|Failed to initialize|Unable to determine|Field \"")
CLUE = lazy(
    r"--query-(?:gpu|compute-apps)[= ]|\b(?:"
    + "|".join(re.escape(name) for name in sorted(_KNOWN) if "." in name or "_" in name)
    + r")\b|\bclocks_(?:event|throttle)_reasons\.|(?:^|, ?)(?:index|name|uuid|pstate|timestamp|count|pid)(?:,|$)",
    re.IGNORECASE,
)


# What each line that CLUE accepts holds; a header of plain names has a comma after one of them.
LITERALS = (
    *("--query-gpu", "--query-compute-apps", "clocks_event_reasons.", "clocks_throttle_reasons."),
    *sorted(name for name in _KNOWN if "." in name or "_" in name),
    *("index,", "name,", "uuid,", "pstate,", "timestamp,", "count,", "pid,"),
)


def recognise(text: Text) -> bool:
    """Whether a line of `text` names what was queried."""
    return any(CLUE.search(line) for line in lines_with(text, LITERALS))


class Row(Struct):
    """One line of values, by property name. `block` counts the blocks of one text that belong together."""

    index: int
    block: int
    values: dict[str, str]
    headed: bool = True


def rows(text: Text) -> Iterator[Row]:
    """Yield every row whose columns a header, or the command that asked, names; a header alone yields no row."""
    columns = _asked(text.source)
    block = 0
    for index, raw in enumerate(text.lines):
        asked = _asked(raw)
        if asked:
            columns, block = asked, block + 1
            continue
        if not columns and ("<" in raw or ("," not in raw and "." not in raw and "_" not in raw)):
            continue
        cells = [cell.strip() for cell in strip(raw).split(",", _MOST_COLUMNS)]
        header = _header(cells)
        if header:
            if header != columns:
                columns, block = header, block + 1
            yield Row(index, block, {})
            continue
        if not columns or cells == [""] or _FAILED.match(cells[0]):
            continue
        if len(cells) > len(columns) and "process_name" in columns:  # a process name may hold commas
            place = columns.index("process_name")
            extra = len(cells) - len(columns)
            cells[place : place + extra + 1] = [", ".join(cells[place : place + extra + 1])]
        if len(cells) != len(columns):
            columns = ()  # another kind of text begins
            continue
        yield Row(index, block, dict(zip(columns, cells, strict=True)))


def _asked(line: str) -> tuple[str, ...]:
    found = _ASKED.search(line[:4000]) if "--query-" in line else None
    if not found:
        return ()
    return tuple(name for name in found[2].split(",") if name)


def _header(cells: list[str]) -> tuple[str, ...]:
    """Return the property names when `cells` are a header: known names, one of which only a header would hold."""
    names = tuple(cell.partition(" [")[0].lower() for cell in cells)
    known = [n for n in names if n in _KNOWN or _REASON.fullmatch(n)]
    telling = [n for n in known if "." in n or "_" in n]
    if len(known) >= 2 and (telling or len(known) == len(names)) and len(known) * 2 >= len(names):
        return names
    return names if len(names) == 1 and telling else ()


def parse(text: Text) -> Answer:
    """Return the GPUs and processes of every row in `text`."""
    answer = Answer()
    apps = "--query-compute-apps" in text.source
    if apps:
        answer.processes = []
    places: dict[int, int] = {}
    for row in rows(text):
        if not row.values:
            if _is_apps(text.lines[row.index]):
                answer.processes = answer.processes or []
            continue
        if "pid" in row.values:
            _process(answer, text, row)
            continue
        reading = _reading(text, row)
        named = reading.index >= 0 or "bus_id" in reading.values or "uuid" in reading.values
        if not named and reading.at is None:
            # One row for each GPU, in the order of their indexes.
            reading.index = places.get(row.block, 0)
            places[row.block] = reading.index + 1
        if not reading.telling and reading.index < 0:
            continue
        driver = word(row.values.get("driver_version", ""))
        if driver and not answer.driver:
            answer.driver = driver
        answer.quote = answer.quote or reading.quote
        answer.readings.append(reading)
    return answer


def _is_apps(line: str) -> bool:
    return "pid" in line and ("process_name" in line or "used_" in line)


def _reading(text: Text, row: Row) -> Reading:
    reading = Reading(text.quote(row.index))
    for name, cell in row.values.items():
        entry = COLUMNS.get(name)
        if entry:
            reading.say(entry[0], entry[1](cell))
        elif name == "index":
            index = whole(cell)
            reading.index = index if index is not None and 0 <= index < 1000 else reading.index
        elif name == "timestamp":
            reading.at = seconds(cell)
        elif name in _REASONS:
            reading.throttle = reasons(cell)
        elif name.startswith("clocks_") and _REASON.fullmatch(name) and cell in ("Active", "Not Active"):
            reason = name.partition(".")[2]
            reading.limit("idle" if reason == "gpu_idle" else reason, cell == "Active")
    return reading


def _process(answer: Answer, text: Text, row: Row) -> None:
    pid = whole(row.values["pid"])
    if pid is None:
        return
    gpu = row.values.get("gpu_uuid") or row.values.get("gpu_bus_id") or row.values.get("gpu_name") or ""
    memory = row.values.get("used_gpu_memory") or row.values.get("used_memory") or ""
    name = word(row.values.get("process_name", "")) or word(row.values.get("name", "")) or ""
    answer.process(GpuProcess(pid, gpu, name, size(memory), text.quote(row.index)))
