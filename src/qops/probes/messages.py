"""Every text, scanned once for every message that `qops.data.messages` knows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from qops.data.messages import ALL
from qops.data.messages.engine import READY
from qops.data.messages.process import ERROR_LINE
from qops.evidence.message import Hit, Logs, Message
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes import unit_runs
from qops.probes.base import Probe
from qops.probes.scan import places

WINDOW = 4096  # characters searched before and after a literal: patterns are not linear in the length of a line
MOST_IN_LINE = 16  # places in one long line at which one message is searched for

KEPT = 50  # hits kept of one message in one text; the rest is counted


_RULE = lazy(r".{0,120}?[*=_-]{8,200}\s*")  # a line drawn across the page, behind a logger's prefix


@cache
def _by_literal() -> dict[str, tuple[Message, ...]]:
    found: dict[str, list[Message]] = {}
    for message in ALL:
        for literal in message.literals:
            found.setdefault(literal.lower(), []).append(message)
    return {literal: tuple(messages) for literal, messages in found.items()}


def candidates(text: Text) -> Iterator[tuple[int, int, str]]:
    """Yield (index of the line, offset in it, literal) for each known literal in `text`, without regard to case.

    Elements of XML are left out.
    The offset counts the bytes of the line in lower case; that is its place in a line of plain ASCII.
    """
    literals = tuple(_by_literal())
    lines = ["" if line.endswith(">") and _is_element(line) else line for line in text.lines]
    whole = "\n".join(lines)
    lower = whole.lower()
    lowered = lower.encode().split(b"\n") if len(lower) == len(whole) else [_lowered(line).encode() for line in lines]
    for index, offset, literal in places(lowered, literals):
        yield index, offset, literals[literal]


def _lowered(line: str) -> str:
    """Return `line` in lower case, character for character (a dotted capital I would become two)."""
    lower = line.lower()
    return lower if len(lower) == len(line) else "".join(character.lower()[:1] for character in line)


def _is_element(line: str) -> bool:
    """Return whether `line` is one element of XML with its value: an answer has thousands, and none is a message."""
    name = line.lstrip().removeprefix("<").partition(">")[0]
    return line.endswith(f"</{name}>") and line.count("<") == 2


def part(line: str, offset: int) -> str:
    """Return what of `line` is searched for a message whose literal was found at `offset`: 8 KiB at most."""
    if len(line) <= 2 * WINDOW:
        return line
    if not line.isascii():  # the offset is that of a byte
        offset = len(_lowered(line).encode()[:offset].decode(errors="ignore"))
    return line[max(0, offset - WINDOW) : offset + WINDOW]


def parse(texts: Sequence[Text]) -> Logs:
    """Return every message in `texts`."""
    hits: list[Hit] = []
    counts: Counter[str] = Counter()
    ends: list[Quote] = []
    unclaimed: list[str] = []
    for text in texts:
        known: set[int] = set()
        found: list[tuple[int, Hit]] = []
        kept: Counter[str] = Counter()
        tried: Counter[tuple[int, str]] = Counter()
        for index, offset, literal in candidates(text):
            line = text.lines[index]
            most = 1 if len(line) <= 2 * WINDOW else MOST_IN_LINE
            for message in _by_literal()[literal]:
                if tried[index, message.id] >= most:
                    continue
                tried[index, message.id] += 1
                match = message.regex.search(part(line, offset))
                if match is None:
                    continue
                tried[index, message.id] = most
                if message.id != ERROR_LINE.id:
                    known.add(index)
                counts[message.id] += 1
                kept[message.id] += 1
                if kept[message.id] <= KEPT:
                    groups = {k: v for k, v in match.groupdict().items() if v is not None}
                    found.append((index, Hit(message.id, text.quote(index), groups)))
        past = unit_runs.mended(text.lines, [index for index, hit in found if hit.id == READY.id])
        hits += [hit for index, hit in found if not any(index in run for run in past)]
        # Of a reduced text most lines were not kept.
        if text.numbers or any(
            line.strip() and i not in known and not _RULE.fullmatch(line) for i, line in enumerate(text.lines)
        ):
            unclaimed.append(text.source)
        last = next((i for i in range(len(text.lines) - 1, -1, -1) if text.lines[i].strip()), None)
        if last is not None:
            ends.append(text.quote(last))
    return Logs(tuple(hits), tuple(counts.items()), tuple(ends), tuple(t.source for t in texts), tuple(unclaimed))


PROBE = Probe(
    name="messages",
    makes=Logs,
    parse=parse,
    recognise=lambda text: bool(text.lines),
    literals=(*(literal for message in ALL for literal in message.literals), *unit_runs.ENDS),
    every=True,
)
