"""What nvidia-smi changes: persistence mode, power limit, locked clocks, and a GPU that it resets.

Texts and statuses are nvidia-smi's as owners quote them. Where a text could not be found quoted, the
comment beside it says so.
"""

from __future__ import annotations

from .. import clock, faults, kmod, store
from ..hardware import Gpu
from ..load import power_limit
from ..privilege import is_root
from .snapshot import Snapshot

_EARLY = "Terminating early due to previous errors.\n"
_WARNING = "Treating as warning and moving on.\n"
_DONE = "All done.\n"
_NO_PERSISTENCE = (
    "\nWarning: persistence mode is disabled on device {}. See the Known Issues section of the nvidia-smi(1) "
    "man page for more information. Run with [--help | -h] switch to get more information on how to enable "
    "persistence mode.\n"
)
# NVML_ERROR_INVALID_ARGUMENT; nvidia-smi returns NVML's numbers.
INVALID = 2
NO_PERMISSION = 4
IN_USE = 19


def _persistence_note(shot: Snapshot, gpus: tuple[Gpu, ...]) -> str:
    return "".join(_NO_PERSISTENCE.format(gpu.slot.address.smi) for gpu in gpus if not shot.persistence(gpu))


def persistence(shot: Snapshot, gpus: tuple[Gpu, ...], value: str) -> tuple[str, int]:
    """Do `-pm`."""
    wanted = {"0": False, "disabled": False, "1": True, "enabled": True}.get(value.lower())
    if wanted is None:
        # Not found quoted: the wording follows nvidia-smi's other messages for a bad option value.
        return f'Invalid combination of input arguments. "{value}" is not a valid persistence mode.\n', INVALID
    text = ""
    word = "Enabled" if wanted else "Disabled"
    for gpu in gpus:
        at = gpu.slot.address.smi
        if shot.persistence(gpu) == wanted:
            text += f"Persistence mode is already {word} for GPU {at}.\n"
        elif not is_root():
            return (
                text + f"Unable to set persistence mode for GPU {at}: Insufficient Permissions\n" + _EARLY,
                NO_PERMISSION,
            )
        else:
            store.set_state("persistence", str(gpu.index), wanted)
            text += f"{word} persistence mode for GPU {at}.\n"
    return text + _DONE, 0


def limit(shot: Snapshot, gpus: tuple[Gpu, ...], value: str) -> tuple[str, int]:
    """Do `-pl`. A board without a limit gets a warning and status 0, as laptops and GB10 do."""
    try:
        watts = float(value)
    except ValueError:
        # Not found quoted.
        return f'Invalid power limit "{value}".\n', INVALID
    text = ""
    warned = False
    for gpu in gpus:
        at = gpu.slot.address.smi
        if shot.hardware.board.power is None:
            text += f"Changing power management limit is not supported for GPU: {at}.\n" + _WARNING
            warned = True
            continue
        low, _, high = shot.hardware.board.power
        if not low <= watts <= high:
            text += (
                f"Provided power limit {watts:.2f} W is not a valid power limit which should be between "
                f"{low:.2f} W and {high:.2f} W for GPU {at}\n"
            )
            return text + _EARLY, INVALID
        if not is_root():
            text += f"Failed to set power management limit for GPU {at}: Insufficient Permissions\n"
            return text + _EARLY, NO_PERMISSION
        before = power_limit(shot.hardware, shot.settings, shot.faults, gpu.index) or watts
        # A later time than a planted cap's, whose file may carry the same second.
        at_time = max(clock.now(), shot.faults.planted + 0.001)
        store.set_state("power_limit", str(gpu.index), {"watts": watts, "at": at_time})
        text += f"Power limit for GPU {at} was set to {watts:.2f} W from {before:.2f} W.\n"
    return text + ("" if warned else _persistence_note(shot, gpus)) + _DONE, 0


def lock(shot: Snapshot, gpus: tuple[Gpu, ...], value: str) -> tuple[str, int]:
    """Do `-lgc MIN[,MAX]`. A value above the board's top is taken and clamped in silence, as on real cards."""
    low, _, high = value.partition(",")
    if not low.strip().isdigit() or (high and not high.strip().isdigit()):
        # Not found quoted.
        return f'Invalid GPU clocks "{value}".\n', INVALID
    first, last = int(low), int(high or low)
    text = ""
    for gpu in gpus:
        at = gpu.slot.address.smi
        if not is_root():
            text += f"The current user does not have permission to change clocks for GPU {at}.\n"
            return text + _EARLY, NO_PERMISSION
        if last < first:
            # Not found quoted: NVML answers invalid argument to a minimum above the maximum.
            text += f"Unable to set GPU clocks for GPU {at}: Invalid Argument\n"
            return text + _EARLY, INVALID
        bottom, top = shot.hardware.board.sm
        store.set_state("locked_clocks", str(gpu.index), [max(bottom, min(first, top)), max(bottom, min(last, top))])
        text += f'GPU clocks set to "(gpuClkMin {first}, gpuClkMax {last})" for GPU {at}\n'
    return text + _persistence_note(shot, gpus) + _DONE, 0


def unlock(shot: Snapshot, gpus: tuple[Gpu, ...]) -> tuple[str, int]:
    """Do `-rgc`."""
    for gpu in gpus:
        if not is_root():
            text = f"The current user does not have permission to change clocks for GPU {gpu.slot.address.smi}.\n"
            return text + _EARLY, NO_PERMISSION
        store.set_state("locked_clocks", str(gpu.index), None)
    return _DONE, 0


def reset(shot: Snapshot, gpus: tuple[Gpu, ...]) -> tuple[str, int]:
    """Do `-r`. It forgets what the driver keeps for the GPU, and is refused while somebody has the GPU open."""
    text = ""
    for gpu in gpus:
        at = gpu.slot.address.smi
        if not is_root():
            return text + f"GPU {at} could not be reset: Insufficient Permissions\n" + _EARLY, NO_PERMISSION
        if any(one.gpu == gpu.index for one in shot.processes):
            # Not found quoted in full.
            text += f"GPU {at} is currently in use by one or more other processes.\n"
            return text + _EARLY, IN_USE
        for section in kmod.VOLATILE:
            store.set_state(section, str(gpu.index), None)
        faults.reset(gpu.index)
        text += f"GPU {at} was successfully reset.\n"
    return text + _DONE, 0
