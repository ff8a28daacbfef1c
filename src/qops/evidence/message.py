"""Messages that programs print: what they look like, and where one was seen."""

import re
from collections.abc import Iterable
from functools import cached_property

from msgspec import Struct, field

from qops.evidence.text import Quote


class Message(Struct, frozen=True, dict=True):
    """A line that some program prints when something happens.

    `pattern` is searched in each single line that holds one of `literals` (compared without regard to case);
    the literals are what makes a scan of a large log fast, so every matching line must hold one of them.
    `origin` says where the wording was confirmed.
    """

    id: str
    pattern: str
    literals: tuple[str, ...]
    origin: str

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The compiled pattern, made at first use because most runs need few of them."""
        return re.compile(self.pattern, re.IGNORECASE)


class Hit(Struct, frozen=True):
    """One place where a message was seen, with the named groups of its pattern."""

    id: str
    quote: Quote
    groups: dict[str, str] = field(default_factory=dict)


class Logs(Struct, frozen=True):
    """All messages seen in all texts, in order of source and line; long repetitions are counted, not kept.

    `counts` holds, for each message id, how often it was seen in total. `ends` quotes the last non-blank line
    of each text that is a program's log. `sources` names every text that was scanned.
    """

    hits: tuple[Hit, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    ends: tuple[Quote, ...] = ()
    sources: tuple[str, ...] = ()
    unclaimed: tuple[str, ...] = ()  # the sources that hold a line in which no message is known

    def find(self, *messages: Message) -> tuple[Hit, ...]:
        """Return the hits of any of `messages`, in order."""
        wanted = {m.id for m in messages}
        return tuple(h for h in self.hits if h.id in wanted)

    def first(self, *messages: Message) -> Hit | None:
        """Return the earliest hit of any of `messages`."""
        wanted = {m.id for m in messages}
        return next((h for h in self.hits if h.id in wanted), None)

    def count(self, message: Message) -> int:
        """Return how often `message` was seen, repetitions included."""
        return dict(self.counts).get(message.id, 0)


def quotes(hits: Iterable[Hit], limit: int = 4) -> tuple[Quote, ...]:
    """Return the quotes of the first `limit` hits."""
    return tuple(h.quote for _, h in zip(range(limit), hits, strict=False))
