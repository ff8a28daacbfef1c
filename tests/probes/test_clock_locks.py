from judging import text

from qops.probes.clock_locks import PROBE, parse, recognise

SAID = """qops gpu clocks: GPU-0a0a0a0a-0000-0000-0000-000000000001 600,2100
qops gpu clocks: GPU-0a0a0a0a-0000-0000-0000-000000000002 unlocked
"""


def test_what_the_unit_locked() -> None:
    found = parse([text(SAID)])
    assert found is not None and found.quote is not None
    assert list(found.locks.values()) == ["600,2100", "unlocked"]


def test_nothing_locked_is_an_answer() -> None:
    found = parse([text("qops gpu clocks: none\n")])
    assert found is not None and found.locks == {}
    assert parse([text("GPU-0a0a0a0a 600,2100\n")]) is None


def test_a_broken_line_is_none() -> None:
    for line in ("qops gpu clocks: \n", "qops gpu clocks: GPU-x 1,2\n", "qops gpu clocks: GPU-0a 1,2,3\n"):
        assert parse([text(line)]) is None


def test_it_is_recognised_by_its_own_mark() -> None:
    assert recognise(text(SAID))
    assert not recognise(text("clocks: 600,2100\n"))
    assert PROBE.asks[0].name == "gpu clock locks"  # type: ignore[union-attr]
