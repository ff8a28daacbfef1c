"""Damaged copies of real-looking texts, and the one promise of every parser: a value, None, or ParseError."""

import random
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from qops.errors import ParseError
from qops.evidence.text import Text
from qops.probes.base import Probe
from qops.transports.base import lines

_NOISE = (
    b"\x00",
    b"\xff\xfe",
    b"9" * 400,
    "٣५".encode(),
    b"N/A",
    b"-",
    b",",
    b"\t",
    b"|",
    b"\n",
    b":",
    b"[",
    b"<",
    b"&x;",
)


def mangled(samples: tuple[str, ...], count: int, seed: int = 7) -> Iterator[bytes]:
    """Yield `count` damaged copies of `samples`: bytes changed, cut out, doubled, swapped, or noise put in."""
    chance = random.Random(seed)
    for number in range(count):
        data = bytearray(samples[number % len(samples)].encode())
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(data) + 1)
            end = min(len(data), at + chance.randint(0, 40))
            match chance.randrange(5):
                case 0:
                    data[at:end] = bytes(chance.randrange(256) for _ in range(end - at))
                case 1:
                    del data[at:end]
                case 2:
                    data[at:at] = data[at:end] * chance.randint(1, 4)
                case 3:
                    data[at:at] = chance.choice(_NOISE)
                case _:
                    del data[at:]
        yield bytes(data)


def parses_anything(probe: Probe, samples: tuple[str, ...], count: int = 300) -> None:
    """Check that `probe` is total: on damaged samples, on any text, and on lines of the samples in any order."""
    for data in mangled(samples, count):
        _try(probe, "loose.txt", lines(data), whole=False)
    pieces = [line for sample in samples for line in sample.split("\n")]
    line = st.one_of(st.sampled_from(pieces), st.text(max_size=60))

    @settings(max_examples=100, deadline=None, database=None)
    @given(
        st.sampled_from(("loose.txt", *(" ".join(getattr(a, "argv", ())) for a in probe.asks))),
        st.lists(line, max_size=12),
    )
    def total(source: str, content: list[str]) -> None:
        _try(probe, source, tuple(content))

    total()


def _try(probe: Probe, source: str, content: tuple[str, ...], whole: bool = True) -> None:
    text = Text(source, content)
    recognised = probe.recognise(text)
    try:
        value = probe.parse([text])
    except ParseError as error:
        assert error.source == source
        return
    if value is not None:
        assert isinstance(value, probe.makes)
        assert recognised or not whole or not source.startswith("loose"), (
            f"{probe.name} reads a text that it does not recognise: {content}"
        )
