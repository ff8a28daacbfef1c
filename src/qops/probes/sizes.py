"""Sizes as programs print them: `64M`, `1.5GiB`, `65536k`, `251Gi`."""

import re

from qops.pattern import lazy

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_SIZE = lazy(r"\s*([0-9]{1,18}(?:\.[0-9]{1,6})?)\s*([bkmgtp]?)(?:i?b?|ytes)\s*", re.IGNORECASE | re.ASCII)


def size(text: str, unit: int = 1) -> int | None:
    """Return the bytes that `text` means, or None. `unit` is what a bare number counts in.

    A letter is a power of 1024: so count df, free, docker and systemd.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    letter = match[2].lower()
    return int(float(match[1]) * (_UNITS[letter] if letter else unit))


def limit(text: str, unit: int = 1) -> int | None:
    """Return a resource limit in bytes (or plain units), -1 for unlimited, None when `text` is neither."""
    if text.strip().lower() in ("unlimited", "infinity", "-1"):
        return -1
    return size(text, unit)
