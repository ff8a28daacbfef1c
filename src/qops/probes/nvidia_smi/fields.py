"""The names under which `nvidia-smi -q` prints what a `Gpu` holds, the same for its text and its XML.

A name is "section/key" in lower case with underscores. XML repeats a part of the section in the key
(`clocks_event_reason_gpu_idle`); both spellings are listed. Seen on drivers 470 to 610.
"""

import re
from collections.abc import Callable
from typing import Any

from qops.pattern import lazy
from qops.probes.nvidia_smi.quantity import REASONS, bus, number, reasons, size, whole, word, yes
from qops.probes.nvidia_smi.reading import Answer, Reading

Converter = Callable[[str], Any]


def gpu_id(text: str) -> str | None:
    """Return a GPU's UUID as printed; None for anything that is none (MIG devices have their own)."""
    value = text.strip()
    return value[:80] if value.startswith("GPU-") else None


# What is unmistakable wherever it stands, so that it is taken from a lone line too.
ANYWHERE: dict[str, tuple[str, Converter]] = {
    "product_name": ("name", word),
    "gpu_uuid": ("uuid", gpu_id),
    "uuid": ("uuid", gpu_id),
    "persistence_mode": ("persistence", yes),
    "addressing_mode": ("addressing_mode", word),
    "performance_state": ("pstate", word),
    "gpu_current_temp": ("temperature", whole),
    "gpu_recovery_action": ("recovery_action", word),
    "remapping_failure_occurred": ("remap_failed", yes),
    "remapped_row_pending": ("remap_pending", yes),
    "remapped_row_failure": ("remap_failed", yes),
    "pci_bus_id": ("bus_id", bus),
    "device_current": ("link_gen", whole),
    "max_link_gen": ("link_gen_max", whole),
    "current_link_gen": ("link_gen", whole),
    "max_link_width": ("link_width_max", whole),
    "current_link_width": ("link_width", whole),
    "gpu_util": ("utilization", whole),
    "enforced_power_limit": ("power_limit", number),
    "current_power_limit": ("power_limit", number),
    "default_power_limit": ("power_limit_default", number),
    "min_power_limit": ("power_limit_min", number),
    "max_power_limit": ("power_limit_max", number),
}


def lanes(text: str) -> int | None:
    """Return a link width such as "16x"; None without the x."""
    return whole(text) if text.strip().endswith("x") else None


_POWER: dict[str, tuple[str, Converter]] = {
    "average_power_draw": ("power", number),
    "power_draw": ("power", number),
    "instant_power_draw": ("power", number),
    "instantaneous_power_draw": ("power", number),
}
# What has a meaning only below its heading.
IN_SECTION: dict[str, dict[str, tuple[str, Converter]]] = {
    "": {"max": ("link_width_max", lanes), "current": ("link_width", lanes)},  # lines picked by grep
    "pci": {"bus_id": ("bus_id", bus)},
    "pcie_generation": {"max": ("link_gen_max", whole), "current": ("link_gen", whole)},
    "link_width": {"max": ("link_width_max", whole), "current": ("link_width", whole)},
    "fb_memory_usage": {"total": ("memory_total", size), "used": ("memory_used", size)},
    "bar1_memory_usage": {"total": ("bar1_total", size)},
    "utilization": {
        "gpu": ("utilization", whole),
        "memory": ("memory_utilization", whole),
        "memory_util": ("memory_utilization", whole),
    },
    "temperature": {"gpu_temp": ("temperature", whole)},
    "gpu_power_readings": _POWER,
    "power_readings": _POWER,
    "clocks": {"sm": ("sm_clock", whole), "sm_clock": ("sm_clock", whole)},
    "max_clocks": {"sm": ("sm_clock_max", whole), "sm_clock": ("sm_clock_max", whole)},
    "remapped_rows": {"pending": ("remap_pending", yes)},
    "fabric": {"state": ("fabric_state", word), "status": ("fabric_status", word)},
}
# Limits of the module or of the memory, not of the GPU.
OTHER_POWER = frozenset({"module_power_readings", "gpu_memory_power_readings"})
SECTIONS = (
    (frozenset(IN_SECTION) - {""}) | OTHER_POWER | {"clocks_event_reasons", "clocks_throttle_reasons", "volatile"}
)

_REASON_NAMES = {name: name for _, name in REASONS} | {
    "gpu_idle": "idle",
    "display_clocks_setting": "display_clock_setting",
}
REASON_KEYS = frozenset(
    {"sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"}
)
_BELOW_REASONS = ("clocks_event_reasons", "clocks_throttle_reasons")
_MASK = lazy(r"clocks?_(?:event|throttle)_reasons?(?:[._]active)?", re.ASCII)
# Keys that are the host's, not a GPU's.
VERSIONS = {
    "driver_version": "driver",
    "nvidia_driver_version": "driver",  # vLLM's collect_env
    "kmd_version": "driver",  # what driver 610 calls it
    "cuda_version": "cuda",
    "cuda_umd_version": "cuda",
}


def key_of(name: str) -> str:
    """Return a printed name in the form of the tables."""
    return "_".join(name.strip().lower().split())


def of_host(answer: Answer, key: str, value: str) -> bool:
    """Note a value that is the host's; return whether it was one."""
    if key in VERSIONS:
        version = re.match(r"[0-9]{1,4}(?:\.[0-9]{1,5}){1,3}(?![\w.])", value.strip(), re.ASCII)
        if version:
            name = VERSIONS[key]
            setattr(answer, name, getattr(answer, name) or version[0])
        return version is not None
    if key == "attached_gpus":
        count = whole(value)
        if count is not None and answer.attached is None:
            answer.attached = count
        return count is not None
    return False


def of_gpu(reading: Reading, sections: tuple[str, ...], key: str, value: str) -> bool:
    """Note a value that is a GPU's; return whether it was one. `sections` are the headings above, outermost first."""
    section = sections[-1] if sections else ""
    if not OTHER_POWER.isdisjoint(sections):
        return False
    entry = IN_SECTION.get(section, {}).get(key) or ANYWHERE.get(key)
    if not section and key not in ANYWHERE and not reading.telling:
        entry = None
    if entry:
        name, convert = entry
        converted = convert(value)
        reading.say(name, converted)
        return converted is not None
    if section == "volatile" and "uncorrectable" in key:
        reading.add("ecc_uncorrected", whole(value))
        return True
    # Of all that is pending only row remapping answers so; ECC says Enabled.
    if key == "pending" and reading.telling and value.strip() in ("Yes", "No"):
        reading.say("remap_pending", yes(value))
        return True
    told = "reason" in key or key in REASON_KEYS or section in _BELOW_REASONS
    return told and _reason(reading, section, key, value)


def _reason(reading: Reading, section: str, key: str, value: str) -> bool:
    if _MASK.fullmatch(key):
        found = reasons(value)
        if found is not None:
            reading.throttle = found
        return found is not None
    for prefix in ("clocks_event_reason_", "clocks_throttle_reason_"):
        key = key.removeprefix(prefix)
    name = _REASON_NAMES.get(key)
    if name is None:
        return False
    active = yes(value) if value.strip() in ("Active", "Not Active") else None
    if active is None or not (section in _BELOW_REASONS or name in REASON_KEYS):
        return False
    reading.limit(name, active)
    return True
