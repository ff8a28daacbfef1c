"""Messages in very long lines: what is near a literal is searched, and the rest of the line costs nothing."""

import time

import pytest
from judging import text

from qops.data.messages import nccl, rdma
from qops.probes.messages import MOST_IN_LINE, WINDOW, parse, part

DUPLICATE = "NCCL WARN Duplicate GPU detected : rank 3 and rank 2 both on CUDA device 9a000"


@pytest.mark.parametrize("filler", ["x", "é", "a.b,c ", "\u0130"])
@pytest.mark.parametrize("before", [0, 100, 150_000])
def test_a_message_is_found_wherever_it_stands_in_a_long_line(filler: str, before: int) -> None:
    line = (filler * before)[:before] + DUPLICATE + filler * 40_000
    (hit,) = parse([text(line)]).find(nccl.DUPLICATE_GPU)
    assert hit.groups["bus"].startswith("9a000")


def test_a_later_place_counts_when_the_first_is_only_talk() -> None:
    line = "Duplicate GPU detected is what it said. " + "y" * 20_000 + DUPLICATE + "z" * 20_000
    assert parse([text(line)]).find(nccl.DUPLICATE_GPU)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\t\t<clocks_event_reason>GPU has fallen off the bus</clocks_event_reason>", False),
        ("\t<pdi>0x0000000000000000</pdi>", False),
        ("<3>[ 12.345678] GPU has fallen off the bus", True),
        ("<p>GPU has fallen off the bus</div>", True),
        ("<b>now</b> GPU has fallen off the bus <b>!</b>", True),
        ("fallen off the bus: GPU has fallen off the bus</b>", True),
    ],
)
def test_the_value_of_an_element_of_xml_is_no_message(line: str, message: bool) -> None:
    assert bool(parse([text(line)]).hits) is message


def test_what_is_searched_is_short() -> None:
    assert part("short", 2) == "short"
    assert len(part("x" * 200_000, 90_000)) == 2 * WINDOW
    assert len(part("é" * 100_000, 90_001)) <= 2 * WINDOW


HOSTILE = {
    "a literal, again and again": "Got completion from peer " * 9_000,
    "half a message, again and again": "NET/IB : Got completion from peer a with status=1 " * 4_000,
    "blanks": "shared memory segment" + " " * 220_000,
    "digits": "NCCL WARN Cuda failure " + "1" * 220_000,
    "one bracket more": "Call to ibv_reg_mr(" + "(" * 220_000,
    "mixed": "No space left on device /dev/shm Bus error shared memory " * 4_000,
    "not ASCII": "é NET/IB : Got completion from peer ü" * 6_000,
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_line_takes_no_longer_than_it_deserves(line: str) -> None:
    begun = time.monotonic()
    logs = parse([text(line)])
    assert time.monotonic() - begun < 5
    assert len(logs.find(rdma.IB_COMPLETION)) <= MOST_IN_LINE
