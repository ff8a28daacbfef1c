"""Every text, scanned once for every message that `qops.data.messages` knows."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate

from qops.data.messages import ALL
from qops.evidence.message import Hit, Logs, Message
from qops.evidence.text import Quote, Text
from qops.probes.base import Probe

KEPT = 50  # hits kept of one message in one text; the rest is counted


@cache
def _by_literal() -> dict[str, tuple[Message, ...]]:
    found: dict[str, list[Message]] = {}
    for message in ALL:
        for literal in message.literals:
            found.setdefault(literal.lower(), []).append(message)
    return {literal: tuple(messages) for literal, messages in found.items()}


def candidates(text: Text) -> Iterator[tuple[int, str]]:
    """Yield (index of the line, literal) for each known literal in `text`, without regard to case."""
    from qops.probes.scan import automaton

    literals = tuple(_by_literal())
    lowered = [line.lower().encode() for line in text.lines]
    starts = list(accumulate((len(line) + 1 for line in lowered), initial=0))
    for literal, position in automaton(literals)(b"\n".join(lowered)):
        yield bisect_right(starts, position) - 1, literals[literal]


def parse(texts: Sequence[Text]) -> Logs:
    """Return every message in `texts`."""
    hits: list[Hit] = []
    counts: Counter[str] = Counter()
    ends: list[Quote] = []
    for text in texts:
        kept: Counter[str] = Counter()
        seen: set[tuple[int, str]] = set()
        for index, literal in candidates(text):
            for message in _by_literal()[literal]:
                if (index, message.id) in seen:
                    continue
                seen.add((index, message.id))
                match = message.regex.search(text.lines[index])
                if match is None:
                    continue
                counts[message.id] += 1
                kept[message.id] += 1
                if kept[message.id] <= KEPT:
                    groups = {k: v for k, v in match.groupdict().items() if v is not None}
                    hits.append(Hit(message.id, text.quote(index), groups))
        last = next((i for i in range(len(text.lines) - 1, -1, -1) if text.lines[i].strip()), None)
        if last is not None:
            ends.append(text.quote(last))
    return Logs(tuple(hits), tuple(counts.items()), tuple(ends), tuple(t.source for t in texts))


PROBE = Probe(
    name="messages",
    makes=Logs,
    parse=parse,
    recognise=lambda text: bool(text.lines),
    literals=tuple(literal for message in ALL for literal in message.literals),
)
