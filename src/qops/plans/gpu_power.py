"""The plan of the role gpu_power: power limit, locked clocks and persistence mode of each GPU."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from qops.derive import gpu_power
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State
from qops.errors import UsageError
from qops.evidence.gpu import DriverModule, Gpu, Gpus
from qops.evidence.power import ClockLocks
from qops.plans.base import Options, Plan, RolePlan, Seen

_WATTS = re.compile(r"[0-9]{1,4}(\.[0-9]{1,2})?")
_CLOCKS = re.compile(r"[0-9]{2,5}(,[0-9]{2,5})?")
_ADDRESS = re.compile(r"([0-9a-f]{1,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_KEEP = "-"  # in the file on the host: leave it as it is


@dataclass(frozen=True, slots=True)
class _Wish:
    """What the inventory wants of one GPU."""

    limit: str
    clocks: str


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    common = _Wish(_a_limit(options["limit"]), _a_lock(options["clocks"]))
    mode = _a_mode(options["persistence"])
    own = _own(options["gpus"], common)
    found: Gpus | None = seen.get(Gpus)
    if found is None or not found.gpus:
        if seen.get(DriverModule):
            silent = "nvidia-smi names no GPU although the driver is loaded: see `qops diagnose host` on this host"
            return Plan(refused=(silent,), facts={"gpus": []})
        later = "no driver is loaded, so no GPU can be set: run this role again when nvidia-smi names the GPUs"
        return Plan(notes=(later,), facts={"gpus": []})
    wishes = {gpu.index: _wish(gpu, own, common) for gpu in found.gpus}
    locks: ClockLocks | None = seen.get(ClockLocks)
    planned = {
        gpu.index: (
            gpu_power.persistence(gpu, mode),
            gpu_power.power_limit(gpu, wishes[gpu.index].limit),
            gpu_power.clocks(gpu, wishes[gpu.index].clocks, locks),
        )
        for gpu in found.gpus
    }
    return Plan(
        settings=_together(planned),
        refused=_not_here(own, found.gpus),
        notes=tuple(_notes(found.gpus, wishes, planned)),
        facts={"gpus": [_plain(gpu, planned[gpu.index]) for gpu in found.gpus]},
        intent=_intent(found.gpus, wishes, common, mode),
    )


def _a_limit(value: Any) -> str:
    text = str(value)
    if text in ("auto", "leave", "default") or (_WATTS.fullmatch(text) and float(text) > 0):
        return text
    raise UsageError(f"a power limit cannot be {text!r}", "give watts, such as 350, or default, auto or leave")


def _a_lock(value: Any) -> str:
    text = str(value).replace(" ", "")
    if text in ("auto", "leave", gpu_power.UNLOCKED):
        return text
    low, _, high = text.partition(",")
    if _CLOCKS.fullmatch(text) and int(low) <= int(high or low):
        return text
    raise UsageError(
        f"clocks cannot be locked to {text!r}",
        'give MHz as "MIN,MAX" in quotes, or one number, unlocked, auto or leave',
    )


def _a_mode(value: Any) -> str:
    text = {"true": "on", "false": "off"}.get(str(value).lower(), str(value))
    if text not in ("auto", "leave", "on", "off"):
        raise UsageError(f"persistence mode cannot be {text!r}", "give auto, leave, on or off")
    return text


def _own(given: Any, common: _Wish) -> dict[str, _Wish]:
    """Return the wishes for single GPUs, by UUID, PCI address or words of the board's name."""
    if not isinstance(given, Mapping):
        raise UsageError("gpu_power_gpus is no mapping", "give a GPU's UUID, address or name, and what it should have")
    wishes = {}
    for key, what in given.items():
        if not isinstance(what, Mapping) or not what or set(what) - {"limit", "clocks"}:
            raise UsageError(
                f"gpu_power_gpus: {key} has something else than limit and clocks", "give one of them, or both"
            )
        limit, lock = what.get("limit", common.limit), what.get("clocks", common.clocks)
        wishes[str(key)] = _Wish(_a_limit(limit), _a_lock(lock))
    return wishes


def _address(text: str) -> str:
    """Return a PCI address with the eight digits of domain that nvidia-smi prints; "" when it is none."""
    if not _ADDRESS.fullmatch(text.lower()):
        return ""
    parts = text.lower().split(":")
    return ":".join([parts[0].zfill(8) if len(parts) == 3 else "0" * 8, *parts[-2:]])


def _means(key: str, gpu: Gpu) -> int:
    """Return how exactly `key` names `gpu`: 0 not at all, else the more the better."""
    if key.upper().startswith("GPU-"):
        return 1000 if gpu.uuid.lower() == key.lower() else 0
    if address := _address(key):
        return 1000 if gpu.bus_id == address else 0
    return len(key) if key.lower() in gpu.name.lower() else 0


def _wish(gpu: Gpu, own: Mapping[str, _Wish], common: _Wish) -> _Wish:
    """Return what is wanted of `gpu`: a UUID or an address wins over a name, a longer name over a shorter one."""
    best = max(own, key=lambda key: _means(key, gpu), default="")
    return own[best] if best and _means(best, gpu) else common


def _not_here(own: Mapping[str, _Wish], gpus: Iterable[Gpu]) -> tuple[str, ...]:
    """Return what is wrong with keys that name one GPU, which this host does not have. Names are for many hosts."""
    single = [key for key in own if key.upper().startswith("GPU-") or _address(key)]
    lost = [key for key in single if not any(_means(key, gpu) for gpu in gpus)]
    return tuple(
        f"gpu_power_gpus: no GPU of this host is {key}. See nvidia-smi -L, and mend or remove it" for key in lost
    )


def _together(planned: Mapping[int, tuple[Setting, ...]]) -> tuple[Setting, ...]:
    """Return the settings with those of equal GPUs as one: `gpu.power_limit of GPU 0-3`."""
    groups: dict[Setting, list[int]] = {}
    for place in range(3):
        for index, settings in planned.items():
            groups.setdefault(settings[place], []).append(index)
    return tuple(replace(one, key=f"{one.key} of GPU {_ranges(indexes)}") for one, indexes in groups.items())


def _ranges(numbers: Iterable[int]) -> str:
    """Return 0, 1, 2, 5 as `0-2, 5`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _notes(
    gpus: Iterable[Gpu], wishes: Mapping[int, _Wish], planned: Mapping[int, tuple[Setting, ...]]
) -> Iterable[str]:
    said: dict[str, list[int]] = {}
    for gpu in gpus:
        _, limit, lock = planned[gpu.index]
        wanted = wishes[gpu.index]
        if limit.state is State.ABSENT and wanted.limit not in ("auto", "leave"):
            said.setdefault(f"{limit.because}: what was chosen for it has no effect", []).append(gpu.index)
        elif gpu_power.clamped(gpu, wanted.limit):
            said.setdefault(f"{limit.because}: it gets {limit.value} W", []).append(gpu.index)
        elif limit.state is State.LEFT and limit.because.startswith("somebody"):
            told = f"the power limit is {limit.current} W: {limit.because}. Choose gpu_power_limit to make it last"
            said.setdefault(told, []).append(gpu.index)
        if " was chosen, and " in lock.because:
            said.setdefault(lock.because, []).append(gpu.index)
    return [f"GPU {_ranges(indexes)}: {what}" for what, indexes in said.items()]


def _plain(gpu: Gpu, settings: tuple[Setting, ...]) -> dict[str, str]:
    """Return one line of the file on the host, with `-` for what stays as it is."""
    mode, limit, lock = (s.value if s.state in (State.SET, State.DIFFERS) else _KEEP for s in settings)
    because = "; ".join(
        f"{s.key.removeprefix('gpu.').replace('_', ' ')}: {s.because}"
        for s in settings
        if s.state in (State.SET, State.DIFFERS)
    )
    name = f"GPU {gpu.index}, {gpu.name}, {gpu.bus_id}"
    return {"uuid": gpu.uuid, "name": name, "persistence": mode, "limit": limit, "clocks": lock, "because": because}


def _intent(gpus: Iterable[Gpu], wishes: Mapping[int, _Wish], common: _Wish, mode: str) -> dict[str, str]:
    """Return what was chosen, as it was chosen: for all GPUs, and for those that should have something else."""
    whole = {gpu_power.LIMIT: common.limit, gpu_power.CLOCKS: common.clocks, gpu_power.PERSISTENCE: mode}
    chosen = {key: value for key, value in whole.items() if value != "auto"}
    for gpu in gpus:
        wish = wishes[gpu.index]
        if wish.limit != common.limit:
            chosen[f"{gpu_power.LIMIT}.{gpu.uuid}"] = wish.limit
        if wish.clocks != common.clocks:
            chosen[f"{gpu_power.CLOCKS}.{gpu.uuid}"] = wish.clocks
    return chosen


PLAN = RolePlan(
    role="gpu_power",
    kinds=(Gpus, DriverModule, ClockLocks),
    defaults={"manage": True, "limit": "auto", "clocks": "auto", "persistence": "auto", "gpus": {}},
    make=make,
    needs_class=False,
)
