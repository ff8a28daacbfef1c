"""What a GPU reads at a moment: utilisation, power, clocks and temperature as a function of time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import faults
from .hardware import Gpu, Hardware

# Bits of nvmlClocksEventReasons.
REASONS = {
    "idle": 0x1,
    "app_clocks": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal": 0x20,
    "hw_thermal": 0x40,
    "hw_power_brake": 0x80,
    "display": 0x100,
}


# Of the board's default limit: what the failing cooling of a planted thermal-throttle still carries away.
COOLED = 0.8


@dataclass(frozen=True)
class Profile:
    """A kind of load. Utilisation in percent, power and memory as a share of the board's."""

    util: int
    swing: int
    util_memory: int
    power: float
    memory: float
    clock: float = 1.0


# Shapes of the project's own H200 recordings: busy, memory-bound, a rank that spins in a collective
# (full utilisation, no memory traffic, flat power), weights that are being loaded.
PROFILES = {
    "idle": Profile(0, 0, 0, 0.0, 0.0),
    "busy": Profile(95, 2, 22, 1.02, 0.55),
    "serving": Profile(72, 20, 38, 0.62, 0.90),
    "membound": Profile(98, 0, 100, 0.69, 0.60),
    "spinning": Profile(100, 0, 0, 0.18, 0.80),
    "loading": Profile(3, 3, 2, 0.16, 0.45),
}


@dataclass(frozen=True)
class Reading:
    """One sample of one GPU: percent, watts, MHz, degrees Celsius, MiB, KB/s, microseconds."""

    util: int
    util_memory: int
    power: float
    power_instant: float
    power_memory: float
    sm: int
    memory_clock: int
    video: int
    temp: int
    temp_memory: int
    used: int
    tx: int
    rx: int
    pstate: str
    reasons: int
    gen: int
    fan: int | None
    throttled: int
    limit: float | None


def _profile(hardware: Hardware, settings: Mapping[str, Any], gpu: Gpu, now: float) -> tuple[Profile, str]:
    """Pick the profile: one set on this host, or the scenario's cycle at this moment."""
    chosen = settings.get("load", {})
    name = chosen.get(str(gpu.index), chosen.get("all"))
    cycle: Sequence[Mapping[str, Any]] = hardware.raw.get("load", [])
    if name is None and cycle:
        place = now % sum(float(step["seconds"]) for step in cycle)
        for step in cycle:
            name = step["profile"]
            place -= float(step["seconds"])
            if place < 0:
                break
    name = str(name or "idle")
    return PROFILES.get(name, PROFILES["idle"]), name


def power_limit(hardware: Hardware, settings: Mapping[str, Any], planted: faults.Faults, gpu: int) -> float | None:
    """Return the limit in force, in watts. A planted cap holds until a later `nvidia-smi -pl`."""
    if hardware.board.power is None:
        return None
    given = settings.get("power_limit", {}).get(str(gpu))
    if planted.hits(faults.POWER_CAP, gpu) and (given is None or float(given["at"]) <= planted.planted):
        # No driver takes less than the board's minimum.
        return max(float(planted.value(faults.POWER_CAP, "watts", 0)), hardware.board.power[0])
    return float(given["watts"]) if given else hardware.board.power[1]


def _recorded(hardware: Hardware, gpu: Gpu, now: float) -> Mapping[str, Any]:
    """Return the recorded sample of this moment, where the scenario has a recording."""
    trace = hardware.raw.get("trace")
    if not trace:
        return {}
    place = now % float(trace["seconds"])
    samples = [sample for sample in trace["samples"] if float(sample["at"]) <= place]
    # Before the first sample of a round the last one of the round before still holds.
    sample: Mapping[str, Any] = (samples or trace["samples"])[-1]["gpus"][gpu.index]
    return sample


def reading(
    hardware: Hardware, gpu: Gpu, settings: Mapping[str, Any], planted: faults.Faults, now: float, held: int
) -> Reading:
    """Read one GPU at a moment; `held` is what processes on it hold, in MiB."""
    board = hardware.board
    profile, name = _profile(hardware, settings, gpu, now)
    limit = power_limit(hardware, settings, planted, gpu.index)
    idle = name == "idle"
    wave = math.sin(now * 2 * math.pi / 7 + gpu.index)
    full = board.power[1] if board.power else board.full_power
    wanted = board.idle_power + 0.4 * wave if idle else full * profile.power * (1 + 0.004 * wave)
    draw, clock, reasons = wanted, float(board.sm[0] if idle else board.sm[1] * profile.clock), 0
    if limit is not None and wanted > limit:
        # Dynamic power goes about with the cube of the clock; the floor keeps a card above rest.
        clock = max(board.sm[1] * (limit / wanted) ** (1 / 3) * 0.8, board.sm[0])
        draw, reasons = limit * (0.985 + 0.004 * wave), REASONS["sw_power_cap"]
    if idle and board.says_idle:
        reasons |= REASONS["idle"]
    share = draw / full if full else 0.0
    temp = board.temp - 2 * (gpu.index % 2) + (0 if idle else int(30 * share))
    throttled = 0
    if planted.hits(faults.THERMAL, gpu.index) and (
        limit is None or not board.power or limit > COOLED * board.power[1]
    ):
        temp, clock = board.tlimit + 1, min(clock, board.sm[1] * 0.45)
        reasons |= REASONS["sw_thermal"] | REASONS["hw_thermal"] | REASONS["hw_slowdown"]
        throttled = max(int((now - planted.planted) * 1e6), 1)
    locked = settings.get("locked_clocks", {}).get(str(gpu.index))
    if locked and not reasons & REASONS["hw_slowdown"]:
        clock = min(max(clock, float(locked[0])), float(locked[1]))
    used = held or int((board.memory or 0) * profile.memory)
    memory_clock = board.memory_clock or (0, 0)
    sample = _recorded(hardware, gpu, now) if idle else {}
    step = board.clock_step
    return Reading(
        util=min(100, max(0, profile.util + round(profile.swing * wave))),
        util_memory=profile.util_memory,
        power=float(sample.get("power", draw)),
        power_instant=float(sample.get("instant", draw)),
        power_memory=float(sample.get("memory", 38.0 if idle else 0.12 * draw)),
        sm=int(clock) if idle else board.sm[1] - step * round((board.sm[1] - clock) / step),
        memory_clock=memory_clock[0 if idle else 1],
        video=board.video[0 if idle else 1],
        temp=temp,
        temp_memory=temp + gpu.index % 2,
        used=used,
        tx=int(sample.get("tx", 990 if idle else 4_200_000 * profile.util // 100 + 990)),
        rx=int(sample.get("rx", 560 if idle else 3_900_000 * profile.util // 100 + 560)),
        pstate=board.idle_pstate if idle else board.busy_pstate,
        reasons=reasons,
        gen=board.link[2] if idle else board.link[0],
        fan=None if board.fan is None else max(board.fan, 0 if idle else int(70 * share)),
        throttled=throttled,
        limit=limit,
    )
