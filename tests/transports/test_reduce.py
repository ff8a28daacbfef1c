import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from qops.probes.scan import automaton, finder
from qops.transports import reduce as module
from qops.transports.reduce import BLOCK, EACH, HEAD, LINE, TAIL, Reduced, reduce, whole_lines


def naive(data: bytes, literals: tuple[str, ...]) -> dict[int, bytes]:
    """What is to be kept at least, said plainly: number to line."""
    lines = data.removesuffix(b"\n").split(b"\n")
    kept: dict[int, bytes] = {}
    for literal in literals:
        holding = [n for n, line in enumerate(lines, 1) if literal.encode() in line.lower()]
        kept |= {n: lines[n - 1] for n in (*holding[:EACH], *holding[-EACH:])}
    at = 0
    for n, line in enumerate(lines, 1):
        if at + len(line) < HEAD or at > len(data) - TAIL:
            kept[n] = line
        at += len(line) + 1
    return kept


def blocks(data: bytes, size: int = BLOCK) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def as_dict(reduced: Reduced) -> dict[int, str]:
    return dict(zip(reduced.numbers, reduced.lines, strict=True))


@pytest.fixture(scope="module")
def log() -> bytes:
    chance = random.Random(3)
    lines = []
    for n in range(180_000):
        roll = chance.random()
        extra = (
            "NCCL WARN Rare"
            if roll < 0.0005
            else "common one"
            if roll < 0.4
            else "both: common Second"
            if roll < 0.5
            else ""
        )
        lines.append(
            f"host:{chance.randrange(9999)} [{n % 8}] NCCL INFO channel {chance.random()} {extra} "
            + "x" * chance.randrange(120)
        )
    return "\n".join(lines).encode() + b"\n"


LITERALS = ("nccl warn", "common", "second", "never there")


@pytest.mark.parametrize("size", [BLOCK, 70_001])
def test_every_line_that_is_wanted_is_kept_with_its_number(log: bytes, size: int) -> None:
    reduced = as_dict(reduce(blocks(log, size), finder(LITERALS)))
    lines = log.decode().split("\n")
    for number, line in naive(log, LITERALS).items():
        assert reduced[number] == line.decode()
    assert all(lines[number - 1] == line for number, line in reduced.items())
    assert len(reduced) < 90_000


def test_size_and_last_line(log: bytes) -> None:
    reduced = reduce([log + b"the end\n\n \n"], finder(LITERALS))
    assert reduced.size == len(log) + 11
    assert reduced.last_line == "the end"


def test_a_file_without_any_literal_keeps_its_ends(log: bytes) -> None:
    reduced = reduce(blocks(log), finder(("never there",)))
    assert reduced.numbers[0] == 1
    assert reduced.numbers[-1] == log.count(b"\n")


def test_long_lines_are_cut_and_counted_as_one() -> None:
    data = b"first\n" + b"y" * (3 * BLOCK) + b"\nNCCL WARN third\n" + b"z" * 200_000 + b"\nlast"
    reduced = as_dict(reduce(blocks(data, 1 << 20), finder(("nccl warn",))))
    assert reduced[1] == "first" and reduced[3] == "NCCL WARN third" and reduced[5] == "last"
    assert len(reduced[2]) <= LINE and len(reduced[4]) <= LINE


def test_numbers_and_lines_agree_whatever_the_bytes() -> None:
    chance = random.Random(5)
    data = bytes(chance.choices(b"ab\n\r\0\x1b]\x9b\xff\xfe nccl warn", k=400_000))
    reduced = reduce(blocks(b"\xff\xfe" + data, 3000), finder(("nccl", "a", "warn")))
    assert len(reduced.lines) == len(reduced.numbers)
    assert list(reduced.numbers) == sorted(set(reduced.numbers))


def test_what_is_kept_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 1 << 20)
    literals = tuple(f"word{n:03d}" for n in range(100))
    chance = random.Random(7)
    data = "".join(f"{literals[chance.randrange(100)]} {'-' * 90}\n" for _ in range(150_000)).encode()
    reduced = reduce(blocks(data, 100_000), finder(literals))
    assert sum(map(len, reduced.lines)) < (1 << 20) + TAIL + 200_000
    assert len(reduced.lines) == len(reduced.numbers)


def test_empty_and_tiny() -> None:
    assert reduce([], finder(("a",))) == Reduced((), (), 0, "")
    assert reduce([b"one"], finder(("a",))) == Reduced(("one",), (1,), 3, "one")


def test_blocks_end_with_lines() -> None:
    assert list(whole_lines([b"a\nb", b"c\nd", b"e"])) == [b"a\n", b"bc\n", b"de"]


def test_the_slow_search_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"nccl warn warning nccl"
    fast = sorted(finder(("warn", "nccl warn", "warning"))(data))
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    finder.cache_clear()
    assert sorted(finder(("warn", "nccl warn", "warning"))(data)) == fast
    assert sorted(automaton(("warn",))(data)) == [(0, 5), (0, 10)]
    finder.cache_clear()


MEASURE = """
import resource, sys
from qops.probes.scan import finder
from qops.transports.reduce import reduce
line = b"node:1:2 [%d] NCCL INFO AllReduce: opCount 1f sendbuff 0x7f recvbuff 0x7f count 4096 datatype 7 op 0\\n"
block = b"".join(line % (n % 8) for n in range(10_000)) + b"node:1:2 [3] NCCL WARN Rare\\n"
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
less = reduce((block for _ in range(int(sys.argv[1]) // len(block))), finder(("nccl warn", "allreduce: opcount")))
print(less.size, len(less.lines), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def _measure(size: int) -> tuple[int, int, int]:
    done = subprocess.run([sys.executable, "-c", MEASURE, str(size)], capture_output=True, check=True, text=True)
    read, kept, kib = map(int, done.stdout.split())
    return read, kept, kib << 10


def test_memory_is_bounded_for_100_mb() -> None:
    read, kept, memory = _measure(100 << 20)
    assert read > 99 << 20
    assert kept < 60_000
    assert memory < 150 << 20


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log() -> None:
    _, _, small = _measure(200 << 20)
    read, _, large = _measure(2 << 30)
    assert read > 2_000_000_000
    assert large < small + (20 << 20)


@pytest.mark.slow
def test_two_gigabytes_of_nothing(tmp_path: Path) -> None:
    with (tmp_path / "sparse.log").open("wb") as file:
        file.truncate(2 << 30)
        file.seek(0, 2)
        file.write(b"\nNCCL WARN at the end\n")
    with (tmp_path / "sparse.log").open("rb", buffering=0) as file:
        less = reduce(iter(lambda: file.read(BLOCK), b""), finder(("nccl warn",)))
    assert less.lines[-1] == "NCCL WARN at the end"
    assert less.numbers[-1] == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1 << 20
