"""`--query-gpu`, `--query-compute-apps` and `--query-supported-clocks`: fields, names, units, csv."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ..hardware import Gpu
from . import report
from .facts import facts
from .fields import ALIASES, FIELDS
from .snapshot import Snapshot

# nvidia-smi's text and status for a field that it does not know, the empty line included.
UNKNOWN_FIELD = 'Field "{}" is not a valid field to query.\n\n'
UNKNOWN_FIELD_STATUS = 2

_APPS = {
    "timestamp": "",
    "gpu_name": "",
    "gpu_bus_id": "",
    "gpu_serial": "",
    "gpu_uuid": "",
    "pid": "",
    "process_name": "",
    "used_gpu_memory": "MiB",
}
_APP_ALIASES = {"name": "process_name", "used_memory": "used_gpu_memory"}


@dataclass(frozen=True)
class Format:
    """How `--format` asks for the answer."""

    header: bool
    units: bool


def read_format(text: str) -> Format | None:
    """Read `--format`; only csv is known, as with the real tool."""
    parts = [part.strip() for part in text.split(",")]
    return Format("noheader" not in parts, "nounits" not in parts) if "csv" in parts else None


def _canonical(name: str) -> str:
    name = name.strip().replace("clocks_throttle_reasons", "clocks_event_reasons")
    return ALIASES.get(name, name)


def unknown(fields: str, apps: bool = False) -> str:
    """Return the first field that the query does not have, or nothing."""
    for name in fields.split(","):
        name = name.strip()
        known = _APP_ALIASES.get(name, name) in _APPS if apps else _canonical(name) in FIELDS
        if not known:
            return name
    return ""


def _cell(value: str, unit: str, name: str, shape: Format) -> str:
    if value == "N/A":
        # Of all fields this one comes without brackets.
        return "N/A" if name == "temperature.memory" else "[N/A]"
    if value.startswith("Requested"):
        return f"[{value}]"
    if name.startswith("pcie.link.width"):
        return value.rstrip("x")
    if name.startswith("temperature"):
        return value.replace(" C", "")
    return value.rsplit(" ", 1)[0] if unit and not shape.units else value


def _stamp(shot: Snapshot) -> str:
    millis = int(shot.now % 1 * 1000)
    return time.strftime("%Y/%m/%d %H:%M:%S", time.localtime(shot.now)) + f".{millis:03d}"


def _titles(names: list[str], unit_of: Callable[[str], str], shape: Format) -> list[str]:
    if not shape.header:
        return []
    return [", ".join(name + (f" [{unit_of(name)}]" if unit_of(name) else "") for name in names)]


def gpus(shot: Snapshot, chosen: tuple[Gpu, ...], fields: str, shape: Format) -> str:
    """Return `--query-gpu`."""
    names = [_canonical(name) for name in fields.split(",")]
    rows = _titles(names, lambda name: FIELDS[name][1], shape)
    for gpu in chosen:
        values = {**facts(shot, gpu), "timestamp": _stamp(shot)}
        cells = []
        for name in names:
            key, unit = FIELDS[name]
            value = key[1:] if key.startswith("=") else values[key]
            cells.append(_cell(value, unit, name, shape))
        rows.append(", ".join(cells))
    return "\n".join(rows) + "\n" if rows else ""


def apps(shot: Snapshot, chosen: tuple[Gpu, ...], fields: str, shape: Format) -> str:
    """Return `--query-compute-apps`."""
    names = [_APP_ALIASES.get(name.strip(), name.strip()) for name in fields.split(",")]
    rows = _titles(names, lambda name: _APPS[name], shape)
    by_index = {gpu.index: gpu for gpu in chosen}
    for process in shot.processes:
        gpu = by_index.get(process.gpu)
        if gpu is None:
            continue
        values = {
            "timestamp": _stamp(shot),
            "gpu_name": shot.hardware.board.name,
            "gpu_bus_id": gpu.slot.address.smi,
            "gpu_serial": gpu.serial,
            "gpu_uuid": gpu.uuid,
            "pid": str(process.pid),
            "process_name": process.name,
            "used_gpu_memory": f"{process.memory} MiB",
        }
        rows.append(", ".join(_cell(values[name], _APPS[name], name, shape) for name in names))
    return "\n".join(rows) + "\n" if rows else ""


def clocks(shot: Snapshot, chosen: tuple[Gpu, ...], fields: str, shape: Format) -> str:
    """Return `--query-supported-clocks`, whose fields are memory and graphics."""
    short = {"mem": "memory", "gr": "graphics"}
    names = [short.get(name.strip(), name.strip()) for name in fields.split(",")]
    rows = _titles(names, lambda name: "MHz" if name in ("memory", "graphics") else "", shape)
    for _gpu in chosen:
        for memory, graphics in report.supported(shot.hardware.board):
            for clock in graphics:
                values = {"memory": f"{memory} MHz", "graphics": f"{clock} MHz"}
                rows.append(", ".join(_cell(values.get(name, "N/A"), "MHz", name, shape) for name in names))
    return "\n".join(rows) + "\n" if rows else ""
