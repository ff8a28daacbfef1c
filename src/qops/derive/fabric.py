"""The NVLink fabric: whether this host has NVSwitches to manage, signs of the manager, and of the fabric's state."""

import re
from collections.abc import Iterator, Sequence

from qops.data.messages import cuda, system
from qops.derive.cuda_compat import printed
from qops.derive.derived import Derived
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.pcie import PcieTree
from qops.evidence.process import CudaResults
from qops.evidence.text import Quote
from qops.pattern import lazy

MANAGER = "nvidia-fabricmanager.service"
NOT_READY = 802  # cudaErrorSystemNotReady, driver_types.h
WHOLE = (1, 2, 4, 8, 16)  # GPUs of an NVSwitch baseboard, or of a part of one that a virtual machine gets
STATUS_LINES = 6  # `systemctl status` prints the state within this many lines of the unit's name

# Boards of NVLink 5: B200 and what is built of it, by name and PCI id.
_NVLINK5 = lazy(r"\bG?B[23]00\b|Device 29[0-9a-f]{2}\b|\[10de:29[0-9a-f]{2}\]", re.IGNORECASE)


def nvlink5(names: Sequence[str]) -> bool:
    """Return whether a board's NVSwitches need a subnet manager (NVLSM) as well: those of B200 and later."""
    return any(_NVLINK5.search(n) for n in names)


def switches(tree: PcieTree | None, names: Sequence[str]) -> Derived[bool | None]:
    """Return whether this host has NVSwitches to manage; None where it was not seen.

    Up to H200 they are NVIDIA functions of class 0680. From B200 on they are on no PCI bus, and a ConnectX-7 that
    reaches them bears a mark (Fabric Manager user guide). A guest whose host manages them has neither.
    """
    if tree is None:
        return Derived(None, "the PCI bus was not seen")
    if tree.nvswitches:
        return Derived(True, f"{len(tree.nvswitches)} NVSwitches are on the PCI bus")
    if not nvlink5(names):
        return Derived(False, "no NVSwitch is on the PCI bus: these are cards, or the host of this guest manages them")
    if any(d.switch_manager for d in tree.devices):
        return Derived(True, "a ConnectX-7 manages the NVSwitches")
    if not any(d.speed_max for d in tree.devices if not d.nvidia):  # as in what root gets of lspci
        return Derived(None, "which ConnectX-7 manages NVSwitches is said by lspci (package pciutils), to root alone")
    return Derived(False, "no ConnectX-7 manages NVSwitches: the host of this guest does")


def not_ready(logs: Logs, results: CudaResults | None) -> tuple[Quote, ...]:
    """Return where CUDA said that the system is not ready."""
    return (*quotes(logs.find(cuda.SYSTEM_NOT_READY), 3), *printed(results, NOT_READY))


def manager_down(logs: Logs, gpus: Gpus | None, setup: DriverSetup | None, tree: PcieTree | None) -> tuple[Quote, ...]:
    """Return what says that the fabric manager does not run, or cannot with this driver."""
    return (
        *quotes(logs.find(system.FABRIC_MANAGER_VERSION), 1),
        *quotes(logs.find(system.FABRIC_MANAGER_DOWN), 3),
        *_inactive(logs),
        *_off(gpus, setup, tree),
    )


def _off(gpus: Gpus | None, setup: DriverSetup | None, tree: PcieTree | None) -> tuple[Quote, ...]:
    """Return that this host's own manager does not run while GPUs wait for their fabric.

    Nothing where a guest's host has the switches, or where that was not seen: then the manager is not this host's.
    """
    state = setup.units.get(MANAGER, "") if setup else ""
    if setup is None or state in ("", "active", "activating") or not stuck(gpus):
        return ()
    if not switches(tree, [g.name for g in gpus.gpus] if gpus else []).value:
        return ()
    return (setup.unit_quotes[MANAGER], *(g.said("fabric_state")[0] for g in stuck(gpus)[:1]))


def _inactive(logs: Logs) -> Iterator[Quote]:
    for unit in logs.find(system.UNIT_HEADER):
        for state in logs.find(system.UNIT_INACTIVE):
            a, b = unit.quote, state.quote
            if a.source == b.source and 0 < b.line - a.line <= STATUS_LINES:
                yield b


def in_progress(logs: Logs, gpus: Gpus | None) -> tuple[Quote, ...]:
    """Return where a GPU's fabric state is In Progress."""
    return tuple(g.said("fabric_state")[0] for g in stuck(gpus)) or quotes(logs.find(system.FABRIC_IN_PROGRESS), 3)


def stuck(gpus: Gpus | None) -> tuple[Gpu, ...]:
    """Return the GPUs whose fabric state is In Progress."""
    return tuple(g for g in gpus.gpus if g.fabric_state.lower() == "in progress") if gpus else ()


def missing_gpu(logs: Logs, gpus: Gpus | None) -> tuple[int, tuple[Quote, ...]]:
    """Return the count of GPUs, when no whole baseboard has it, and where it is said."""
    said = logs.first(system.ATTACHED)
    count = gpus.attached if gpus and gpus.attached else int(said.groups["count"][:4]) if said else 0
    if not count or count in WHOLE:
        return 0, ()
    quote = said.quote if said else gpus.quote if gpus else None
    return count, (quote,) if quote else ()
