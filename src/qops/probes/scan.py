"""Finding many literals in many bytes at once: what makes a log of gigabytes readable in seconds."""

from collections.abc import Callable, Sequence
from functools import cache

Scan = Callable[[bytes], Sequence[tuple[int, int]]]


@cache
def automaton(literals: tuple[str, ...]) -> Scan:
    """Return a function that finds `literals` (compared in lower case) in lower-cased bytes.

    It returns (index of the literal, position of its first byte) for every occurrence, overlapping ones too.
    """
    needles = tuple(literal.lower().encode() for literal in literals)
    try:
        from ahocorasick_rs import BytesAhoCorasick
    except ImportError:  # no wheel for this Python: the same answer, slower
        return lambda data: _one_by_one(needles, data)
    matcher = BytesAhoCorasick(needles)
    return lambda data: [(index, start) for index, start, _ in matcher.find_matches_as_indexes(data, overlapping=True)]


def _one_by_one(needles: tuple[bytes, ...], data: bytes) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for index, needle in enumerate(needles):
        position = data.find(needle)
        while position >= 0:
            found.append((index, position))
            position = data.find(needle, position + 1)
    return sorted(found, key=lambda pair: pair[1])
