"""The last border before a page or another program: no text of a host may hide, reorder or command anything."""

import re

# Control characters, and what turns the direction of writing: Unicode's bidirectional controls.
_UNCLEAR = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def clear(text: str) -> str:
    """Return `text` with each such character written as its code point, so that a reader sees that it was there."""
    return _UNCLEAR.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
