"""The few lines of a text that may matter to a probe, found by literals before any pattern is tried."""

from collections.abc import Iterator

from qops.evidence.text import Text
from qops.probes.prefix import LONGEST
from qops.probes.scan import places


def lines_with(text: Text, literals: tuple[str, ...]) -> Iterator[str]:
    """Yield each line of `text`, cut at LONGEST, that holds one of `literals`, without regard to case."""
    lowered = [line[:LONGEST].lower().encode() for line in text.lines]
    last = -1
    for index, _, _ in places(lowered, literals):
        if index > last:
            last = index
            yield text.lines[index][:LONGEST]
