"""Times as nvidia-smi prints them, in seconds on a clock whose zero does not matter."""

import calendar
import re

from qops.pattern import lazy

# 2026/11/30 10:16:33.163 in CSV; 20261130 10:16:33 or only 10:16:33 in dmon -o DT.
_STAMP = lazy(
    r"(?:([0-9]{4})[/-]?([0-9]{2})[/-]?([0-9]{2})[ T]+)?([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]{1,6})?)", re.ASCII
)


def seconds(text: str) -> float | None:
    """Return the time in seconds; None for anything that is no time."""
    found = _STAMP.fullmatch(text.strip())
    if not found:
        return None
    year, month, day = (int(found[n] or default) for n, default in ((1, 1970), (2, 1), (3, 1)))
    hour, minute, second = int(found[4]), int(found[5]), float(found[6])
    if not (year >= 1970 and 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 61):
        return None
    days = calendar.timegm((year, month, 1, 0, 0, 0)) / 86400 + day - 1
    return days * 86400 + hour * 3600 + minute * 60 + second
