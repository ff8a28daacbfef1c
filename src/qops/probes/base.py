"""What a probe is: questions for a host, and a total parser for the answers."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from qops.evidence.text import Text


class Command(Struct, frozen=True):
    """A command to run on the host. It must only read. `timeout` in seconds.

    `samples` gives the seconds after the start of the collection at which it is asked; more than one makes a
    series, which ends with an answer that has an exit status other than 0: there is nothing to follow. `root` marks
    what answers fully only to root; `why` is one line for docs/evidence.md. `name` is how the answer is quoted when the
    argv is too long to read (an `sh -c` script); without it, the argv is. `binary` keeps the bytes of its output.
    """

    argv: tuple[str, ...]
    why: str
    timeout: float = 10.0
    root: bool = False
    samples: tuple[float, ...] = (0.0,)
    live_only: bool = False  # asked only when a hang is to be judged (`diagnose`, `collect`), not by `plan`
    name: str = ""
    binary: bool = False


class Read(Struct, frozen=True):
    """A file to read on the host. `binary` keeps its bytes."""

    path: str
    why: str
    root: bool = False
    binary: bool = False


Ask = Command | Read


class Probe(Struct, frozen=True):
    """One source of evidence.

    `parse` gets every text that is this probe's: the answers to `asks`, and loose texts that `recognise` claims.
    It returns None when the texts hold nothing of the kind, and raises nothing but ParseError.
    """

    name: str
    makes: type
    parse: Callable[[Sequence[Text]], Any]
    recognise: Callable[[Text], bool]
    asks: tuple[Ask, ...] = ()
    families: tuple[str, ...] = ("nccl", "cuda", "host", "serve")
    literals: tuple[str, ...] = ()  # what a line of a very large file must hold to be of use to `parse`
    shares: tuple[str, ...] = ()  # the probes whose answers are of use to this one, also without its literals
    every: bool = False  # all texts are

    def once(self) -> "Probe":
        """Return the probe with each question put once, and without those for which a hang is needed."""
        asks: list[Ask] = []
        for ask in self.asks:
            if not isinstance(ask, Command):
                asks.append(ask)
            elif not ask.live_only:
                asks.append(replace(ask, samples=ask.samples[:1]))
        return replace(self, asks=tuple(asks))
