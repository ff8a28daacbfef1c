"""Every parser is total: any text gives a value, None, or ParseError, and takes no longer than a text deserves."""

import os
import random
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from elf_files import library
from hypothesis import given, settings
from hypothesis import strategies as st
from pastes import PASTES

from qops import probes
from qops.errors import ParseError
from qops.evidence.message import Logs
from qops.evidence.text import Text
from qops.probes.base import Probe
from qops.transports.base import lines

HOSTS = Path(__file__).parent.parent / "hosts"
MUTATIONS = int(os.environ.get("QOPS_FUZZ", "3000"))  # over all probes
LONGEST = 3_000  # bytes of a recording that one mutation works on
every_probe = pytest.mark.parametrize("probe", probes.ALL, ids=lambda p: p.name)


@cache
def recordings() -> tuple[bytes, ...]:
    """Return all recordings, what people paste besides, and a library."""
    files = [p.read_bytes() for p in sorted(HOSTS.rglob("*")) if p.is_file()]
    texts = [data for data in files if data and data[:2] != b"\x1f\x8b" and len(data) < 5_000_000]
    # Each paste as often as ten recordings, because it stands for as many kinds of text.
    return (*texts, *[paste.encode() for paste in PASTES] * 10, library())


def piece(chance: random.Random) -> bytes:
    """Return a recording, or a part of a long one that starts with a line."""
    data = chance.choice(recordings())
    if len(data) <= LONGEST or not data.isascii():
        return data[:LONGEST]
    start = data.rfind(b"\n", 0, chance.randrange(len(data) - LONGEST // 2)) + 1
    return data[start : start + LONGEST]


def mutated(chance: random.Random) -> bytes:
    """Return one recording with bits flipped, bytes deleted, doubled or cut, or spliced into another one."""
    data = bytearray(piece(chance))
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 2, 8, 60, 400)))
        match chance.randrange(8):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end] * chance.choice((1, 2, 5))
            case 3:
                del data[at:]
            case 4:
                other = piece(chance)
                start = chance.randrange(len(other) + 1)
                data[at:end] = other[start : start + chance.choice((20, 200, 2000))]
            case 5:
                data[at:at] = chance.choice(
                    (b"9" * 5000, "٣२²".encode(), b"\x00\xff", b"\n", b"\r\n", b"\x1b[31m", b"(" * 500)
                )
            case 6:
                data[at:end] = chance.randbytes(end - at)
            case _:
                pieces = data.split(b"\n")
                chance.shuffle(pieces)
                data = bytearray(b"\n".join(pieces))
    return bytes(data)


def check(probe: Probe, texts: tuple[Text, ...]) -> None:
    """Check that `probe` raises nothing but ParseError, and reads nothing that it does not recognise."""
    known = [probe.recognise(t) for t in texts]
    try:
        value = probe.parse(texts)
    except ParseError as error:
        assert error.source in {t.source for t in texts}
        return
    assert value is None or isinstance(value, probe.makes)
    if value is not None and probe.makes is not Logs and not any(t.probe for t in texts):
        assert any(known), f"{probe.name} reads a text that it does not recognise"


def shapes(data: bytes, probe: Probe) -> Iterator[tuple[Text, ...]]:
    """Yield `data` as a loose text, as an answer to `probe`, and as a binary file."""
    content = lines(data)
    yield (Text("loose.txt", content),)
    yield (Text("answer", content, probe=probe.name, status=0, at=1.5),)
    if data.startswith((b"\x7fELF", b"\x80", b"PK")):
        yield (Text("binary", (), data=data),)


@every_probe
def test_damaged_recordings(probe: Probe) -> None:
    chance = random.Random(f"{probe.name} 1")
    for _ in range(max(1, MUTATIONS // len(probes.ALL))):
        data = mutated(chance)
        for texts in shapes(data, probe):
            check(probe, texts)


@every_probe
@settings(max_examples=60, deadline=None, database=None)
@given(content=st.lists(st.text(max_size=80), max_size=10), asked=st.booleans())
def test_any_text(probe: Probe, content: list[str], asked: bool) -> None:
    check(probe, (Text("any", tuple(content), probe=probe.name if asked else ""),))


@every_probe
@settings(max_examples=30, deadline=None, database=None)
@given(data=st.binary(max_size=400))
def test_any_bytes(probe: Probe, data: bytes) -> None:
    check(probe, (Text("bytes", lines(data)),))
    check(probe, (Text("binary", (), data=data),))


@every_probe
def test_nothing_at_all(probe: Probe) -> None:
    check(probe, ())
    check(probe, (Text("empty", ()),))


LONG = (
    " " * 200_000 + "x",
    "(" * 100_000,
    "a=" * 100_000,
    "9" * 200_000,
    "[ " * 100_000,
    "NCCL_DEBUG=" * 20_000,
    "-e NCCL_DEBUG=1 " * 12_000,
    "State: " + "R " * 100_000,
    "/libcuda.so" * 20_000,
    "docker run " * 20_000,
    '"' * 200_000,
    "Xid 31 " * 30_000,
    "GPU0\t" * 40_000,
)


@every_probe
def test_long_lines_cost_no_more_than_long_lines(probe: Probe) -> None:
    start = time.process_time()
    for line in LONG:
        check(probe, (Text("long", (line,)),))
    check(probe, (Text("long", ("[", "{") * 20_000),))
    check(probe, (Text("long", ("== pid 1", "State:\tR (running)", "PID COMMAND", "1 x") * 5_000),))
    assert time.process_time() - start < 20
