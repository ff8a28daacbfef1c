"""The few lines of a text that may matter to a probe, found by literals before any pattern is tried."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from qops.evidence.text import Text
from qops.probes.prefix import LONGEST
from qops.probes.scan import automaton


def lines_with(text: Text, literals: tuple[str, ...]) -> Iterator[str]:
    """Yield each line of `text`, cut at LONGEST, that holds one of `literals`, without regard to case."""
    lowered = [line[:LONGEST].lower().encode() for line in text.lines]
    starts = list(accumulate((len(line) + 1 for line in lowered), initial=0))
    last = -1
    for _, position in automaton(literals)(b"\n".join(lowered)):
        index = bisect_right(starts, position) - 1
        if index > last:
            last = index
            yield text.lines[index][:LONGEST]
