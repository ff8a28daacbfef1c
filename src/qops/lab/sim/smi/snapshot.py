"""One moment of a host, which every form of nvidia-smi's output prints from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import clock, driver, faults, load, processes, store
from ..hardware import Gpu, Hardware


@dataclass(frozen=True)
class Snapshot:
    """A host at `now`, in seconds since the epoch. `gpus` are those that answer."""

    hardware: Hardware
    now: float
    settings: Mapping[str, Any]
    faults: faults.Faults
    versions: driver.Versions
    gpus: tuple[Gpu, ...]
    lost: tuple[Gpu, ...]
    readings: Mapping[int, load.Reading]
    processes: tuple[processes.Process, ...]
    unmanaged: bool  # the fabric waits for a manager, and none runs

    def persistence(self, gpu: Gpu) -> bool:
        """Tell whether persistence mode is on."""
        default = bool(self.hardware.raw.get("persistence", False))
        return bool(self.settings.get("persistence", {}).get(str(gpu.index), default))


def _unmanaged(hardware: Hardware, planted: faults.Faults) -> bool:
    packaged = hardware.switches and store.read_line(store.var() / "driver-library")
    if not packaged and not planted.has(faults.NO_FABRIC):
        return False  # the scenario's own driver, with a manager that is no process here
    return not processes.runs("nv-fabricmanager")


def take(hardware: Hardware) -> Snapshot:
    """Look at the host now."""
    planted = faults.load()
    settings = store.state()
    now = clock.now()
    found = driver.versions(hardware, planted)
    last = len(hardware.gpus) - 1
    lost = tuple(gpu for gpu in hardware.gpus if planted.hits(faults.OFF_BUS, gpu.index, last))
    holders = tuple(one for one in processes.running(hardware) if all(one.gpu != gpu.index for gpu in lost))
    held = {gpu.index: sum(one.memory for one in holders if one.gpu == gpu.index) for gpu in hardware.gpus}
    readings = {
        gpu.index: load.reading(hardware, gpu, settings, planted, now, held[gpu.index]) for gpu in hardware.gpus
    }
    gpus = tuple(gpu for gpu in hardware.gpus if gpu not in lost)
    unmanaged = _unmanaged(hardware, planted)
    return Snapshot(hardware, now, settings, planted, found, gpus, lost, readings, holders, unmanaged)
