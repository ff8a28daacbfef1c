"""What changed between two looks at a host, or between two hosts, that matters for serving.

What changes by itself is left out: temperatures, clocks, use of memory, pids, counters, times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qops.derive.aspects import ALL, Aspect, Matter

Evidence = Mapping[type, Any]
NOTHING = "—"  # where one side has no such thing


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is not as it was. `before` and `after` are NOTHING where one side does not have it."""

    what: str  # "driver", "power limit"
    subject: str  # "GPU 0", "vm.swappiness"; "" where there is one alone
    before: str
    after: str
    matter: Matter
    because: str  # why it matters, as a clause


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes, what matters most first; `unseen` are aspects that one side does not show."""

    found: tuple[Change, ...]
    unseen: tuple[str, ...] = ()
    compared: int = 0  # aspects that both sides show


def changes(before: Evidence, after: Evidence, aspects: Sequence[Aspect] = ALL) -> Changes:
    """Return what changed. Pure; an aspect that one side does not show is no change."""
    found: list[Change] = []
    unseen: list[str] = []
    compared = 0
    for aspect in aspects:
        old, new = aspect.read(before), aspect.read(after)
        if old is None and new is None:
            continue
        if old is None or new is None:
            unseen.append(f"{aspect.what} ({'before' if old is None else 'after'})")
            continue
        compared += 1
        for subject in dict.fromkeys((*old, *new)):
            was, now = old.get(subject, NOTHING), new.get(subject, NOTHING)
            if was != now:
                found.append(Change(aspect.what, subject, was, now, aspect.matter, aspect.because))
    gone = {one.subject for one in found if one.what == "GPU" and NOTHING in (one.before, one.after)}
    found = [one for one in found if one.what == "GPU" or one.subject not in gone]  # its width went with it
    order = list(Matter)
    found.sort(key=lambda change: order.index(change.matter))
    return Changes(tuple(found), tuple(unseen), compared)
