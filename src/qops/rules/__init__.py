"""All rules, one file per cause; the order is the order of `qops rules`.

A rule's module is imported when the rule is first needed: `LISTED` says of each what it is and what it is judged from,
and `ALL`, made when it is asked for, holds the rules themselves.
"""

from typing import TYPE_CHECKING

from qops.rules.listing import FAMILIES, listed, loaded

if TYPE_CHECKING:
    from qops.rule import Rule

    ALL: tuple[Rule, ...]

LISTED = listed()

RETIRED: dict[str, str] = {}  # code of a rule that is no more -> why; a code is never used again


def __getattr__(name: str) -> "tuple[Rule, ...]":
    if name != "ALL":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = tuple(loaded(family, rule) for family, names in FAMILIES.items() for rule in names)
    globals()["ALL"] = made
    return made
