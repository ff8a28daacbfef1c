"""Power limit, locked clocks and persistence mode of a GPU: as they should be, as they are, and why.

The driver forgets a power limit and locked clocks when it is unloaded, and without persistence mode it tears a GPU's
state down when the last program leaves it (docs.nvidia.com/deploy/driver-persistence).
"""

from collections.abc import Mapping

from qops.derive.setting import Setting, State, setting
from qops.evidence.gpu import Gpu
from qops.evidence.power import ClockLocks

LIMIT = "gpu.power_limit"
CLOCKS = "gpu.clocks"
PERSISTENCE = "gpu.persistence"
UNLOCKED = "unlocked"

_CHOSEN = "the inventory says so"
_SAME = 0.5  # watts: nvidia-smi rounds to hundredths, boards keep whole watts


def watts(value: float) -> str:
    """Return watts as a person writes them: 300, 287.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def chosen(settings: Mapping[str, str], key: str, gpu: Gpu) -> str:
    """Return what the intent says of one GPU: a value, as `power_limit` and `clocks` take it; "auto" when nobody chose.

    The role writes `key` for all GPUs, and `key.UUID` for one that should have something else.
    """
    return settings.get(f"{key}.{gpu.uuid}") or settings.get(key, "auto")


def power_limit(gpu: Gpu, wanted: str) -> Setting:
    """Return the power limit of `gpu` in watts. `wanted` is "auto", "leave", "default" or a number of watts.

    Nothing is derived: what a host's power supply, cooling and electricity bear is not to be seen in it. A number
    is clamped to what the board takes.
    """
    now = watts(gpu.power_limit) if gpu.power_limit is not None else ""
    if gpu.power_limit is None and gpu.power_limit_max is None and gpu.power_limit_default is None:
        return Setting(LIMIT, "", "", "", State.ABSENT, f"{_board(gpu)} has no power limit (N/A)")
    if wanted == "leave":
        return Setting(LIMIT, "", "", now, State.LEFT, _CHOSEN)
    default = gpu.power_limit_default
    if wanted == "auto":
        return Setting(LIMIT, "", "", now, State.LEFT, _why_left(gpu.power_limit, default))
    if wanted == "default":
        if default is None:
            return Setting(LIMIT, "", "default", now, State.UNSEEN, f"{_board(gpu)} does not say its default")
        return _limit(gpu, default, _CHOSEN)
    asked = float(wanted)
    low, high = gpu.power_limit_min, gpu.power_limit_max
    if low is not None and asked < low:
        return _limit(gpu, low, f"{watts(asked)} W was chosen, and {_board(gpu)} takes no less than {watts(low)} W")
    if high is not None and asked > high:
        return _limit(gpu, high, f"{watts(asked)} W was chosen, and {_board(gpu)} takes no more than {watts(high)} W")
    return _limit(gpu, asked, _CHOSEN)


def clamped(gpu: Gpu, wanted: str) -> bool:
    """Return whether the board makes another value of a number of watts."""
    return wanted not in ("auto", "leave", "default") and power_limit(gpu, wanted).because != _CHOSEN


def clocks(gpu: Gpu, wanted: str, locks: ClockLocks | None) -> Setting:
    """Return the lock of the SM clock, "MIN,MAX" in MHz. `wanted` is that, "auto", "leave" or "unlocked".

    "auto" undoes what qops locked before, and touches no other lock.
    """
    now = locks.locks.get(gpu.uuid, "") if locks else None
    if wanted == "leave":
        return Setting(CLOCKS, "", "", now or "", State.LEFT, _CHOSEN)
    if wanted == "auto":
        why = "the GPU chooses its clock by load, power and heat"
        if now and now != UNLOCKED:
            return setting(CLOCKS, UNLOCKED, now, why)
        return Setting(CLOCKS, "", "", "", State.LEFT, why)
    if wanted == UNLOCKED:
        return setting(CLOCKS, UNLOCKED, now, _CHOSEN)
    low, _, high = wanted.partition(",")
    top = gpu.sm_clock_max
    if top is not None and int(high or low) > top:
        # nvidia-smi takes it and clamps it in silence.
        value, why = f"{min(int(low), top)},{top}", f"{wanted} MHz was chosen, and {_board(gpu)} ends at {top} MHz"
    else:
        value, why = f"{low},{high or low}", _CHOSEN
    return setting(CLOCKS, value, now, why)


def persistence(gpu: Gpu, wanted: str) -> Setting:
    """Return persistence mode. `wanted` is "auto", "leave", "on" or "off"."""
    now = {True: "on", False: "off", None: None}[gpu.persistence]
    if wanted == "leave":
        return Setting(PERSISTENCE, "", "", now or "", State.LEFT, _CHOSEN)
    if wanted == "auto":
        why = "else the driver forgets limits and clocks, and starts anew, each time that the last program ends"
        return setting(PERSISTENCE, "on", now, why)
    return setting(PERSISTENCE, wanted, now, _CHOSEN)


def _board(gpu: Gpu) -> str:
    return gpu.name.removeprefix("NVIDIA ") or "this board"


def _limit(gpu: Gpu, value: float, why: str) -> Setting:
    wanted = watts(value)
    if gpu.power_limit is None:
        return setting(LIMIT, wanted, None, why)
    return setting(LIMIT, wanted, wanted if abs(gpu.power_limit - value) < _SAME else watts(gpu.power_limit), why)


def _why_left(now: float | None, default: float | None) -> str:
    if now is None or default is None:
        return "nobody chose one"
    if abs(now - default) < _SAME:
        return "it is the board's default, and nobody chose another"
    return f"somebody set it ({watts(default)} W is the board's default), and the inventory does not say what to keep"
