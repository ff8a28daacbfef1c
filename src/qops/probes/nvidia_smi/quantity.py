"""Values as nvidia-smi prints them: a number, perhaps a unit, or one of many ways to say that there is none."""

import math
import re

from qops.pattern import lazy

MIB = 1024 * 1024

# "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "[GPU requires reset]", "ERR!", "-" all mean: no value.
_NUMBER = lazy(r"\s*([+-]?[0-9]{1,18}(?:\.[0-9]{1,9})?)\s*([A-Za-z%/]{0,8})", re.ASCII)
_BUS = lazy(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", re.ASCII)
_BYTES = {"": MIB, "kib": 1024, "kb": 1024, "mib": MIB, "mb": MIB, "gib": 1024 * MIB, "gb": 1024 * MIB}


def number(text: str) -> float | None:
    """Return the leading number of `text`, whatever its unit; None when there is none."""
    found = _NUMBER.match(text)
    value = float(found[1]) if found else math.nan
    return value if math.isfinite(value) else None


def whole(text: str) -> int | None:
    """Return the leading number of `text` as an integer; None when there is none."""
    value = number(text)
    return None if value is None else round(value)


def size(text: str) -> int | None:
    """Return a size in bytes. nvidia-smi counts in MiB, also where `nounits` or dmon prints no unit."""
    found = _NUMBER.match(text)
    if not found:
        return None
    factor = _BYTES.get(found[2].lower())
    return None if factor is None else round(float(found[1]) * factor)


def word(text: str) -> str | None:
    """Return `text` itself; None for the ways to say that there is no value. "None" is a value (recovery action)."""
    value = text.strip()
    bare = value.strip("[]").lower()
    if not bare or bare in ("n/a", "not supported", "unknown error", "gpu requires reset", "err!", "-"):
        return None
    return value[:200]


def yes(text: str) -> bool | None:
    """Return what Yes/No, Enabled/Disabled, On/Off and 1/0 say; None for anything else."""
    value = text.strip().strip("[]").lower()
    if value in ("yes", "enabled", "on", "active", "1"):
        return True
    if value in ("no", "disabled", "off", "not active", "0"):
        return False
    return None


def bus(text: str) -> str | None:
    """Return a PCI address in the driver's form, 00000000:06:00.0 in lower case; None when it is none."""
    found = _BUS.fullmatch(text.strip().lower())
    if not found:
        return None
    return f"{(found[1] or '').zfill(8)}:{found[2]}:{found[3]}.{found[4] or '0'}"


# The bits of nvmlClocksEventReasons* (nvml.h, the same as nvmlClocksThrottleReasons* before driver 535).
REASONS = (
    (0x001, "idle"),
    (0x002, "applications_clocks_setting"),
    (0x004, "sw_power_cap"),
    (0x008, "hw_slowdown"),
    (0x010, "sync_boost"),
    (0x020, "sw_thermal_slowdown"),
    (0x040, "hw_thermal_slowdown"),
    (0x080, "hw_power_brake_slowdown"),
    (0x100, "display_clock_setting"),
)


def reasons(text: str) -> tuple[str, ...] | None:
    """Return the names of the bits that are set in a hexadecimal mask of clocks event reasons."""
    found = re.fullmatch(r"\s*0x([0-9a-fA-F]{1,16})\s*", text, re.ASCII)
    if not found:
        return None
    mask = int(found[1], 16)
    return tuple(name for bit, name in REASONS if mask & bit)
