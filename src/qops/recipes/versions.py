"""Ranges of engine releases, such as `>=0.17.0,<0.34`."""

import re
from collections.abc import Iterable

import msgspec

from qops.data.engines import order

_BOUND = re.compile(r"(>=|<=|<|>|==)\s*([0-9]{1,4}(?:\.[0-9]{1,4}){1,3}(?:\.post[0-9]{1,3})?)")
_TESTS = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "==": lambda a, b: a == b,
}


class Range(msgspec.Struct, frozen=True):
    """Bounds that all hold, as written."""

    bounds: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ",".join(sign + version for sign, version in self.bounds)

    def __contains__(self, version: str) -> bool:
        return all(_TESTS[sign](order(version), order(bound)) for sign, bound in self.bounds)

    def of(self, versions: Iterable[str]) -> tuple[str, ...]:
        """Return those of `versions` that are in the range, in their order."""
        return tuple(version for version in versions if version in self)


def parse(text: str) -> Range:
    """Return the range that `text` writes. Raises ValueError for anything else."""
    bounds = []
    for part in text.split(","):
        found = _BOUND.fullmatch(part.strip())
        if found is None:
            raise ValueError(f"{part.strip()!r} is no bound of a release; write >=0.17.0,<0.34")
        bounds.append((found[1], found[2]))
    return Range(tuple(bounds))
