import pytest
from judging import text
from mangling import parses_anything

from qops.evidence.gpu import P2pStatus
from qops.probes import p2p

MATRIX = """\
 \tGPU0\tGPU1\tGPU2\t
 GPU0\tX\tOK\tCNS\t
 GPU1\tOK\tX\tOK\t
 GPU2\tCNS\tNS\tX\t

Legend:

  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
  GNS  = GPU not supported
  TNS  = Topology not supported
  NS   = Not supported
  U    = Unknown
"""
BLANKS = "# nvidia-smi topo -p2p w\n        GPU0    GPU1\n GPU0   X       GNS\n GPU1   GNS     X\n"
SAMPLES = (MATRIX, BLANKS, "GPU0 <-> GPU1 : OK\n")


def parse(content: str, source: str = "p2p.txt") -> P2pStatus:
    assert p2p.recognise(text(content, source))
    found = p2p.parse([text(content, source)])
    assert found is not None
    return found


def named(found: P2pStatus) -> list[tuple[str, str, str, str]]:
    return [(p.a, p.b, p.capability, p.status) for p in found.pairs]


def test_matrix_that_was_asked_for() -> None:
    assert named(parse(MATRIX, "nvidia-smi topo -p2p n")) == [
        ("GPU0", "GPU1", "n", "OK"),
        ("GPU0", "GPU2", "n", "CNS"),
        ("GPU1", "GPU2", "n", "NS"),  # refused in one direction
    ]


def test_capability_is_said_in_the_text() -> None:
    found = parse(BLANKS + "$ nvidia-smi topo -p2p r\n" + MATRIX)
    assert [p[2:] for p in named(found)] == [("w", "GNS"), ("r", "OK"), ("r", "CNS"), ("r", "NS")]
    assert found.pairs[0].quote.line == 3


@pytest.mark.parametrize(("source", "capability"), [("nvidia-smi-topo-p2p-a.txt", "a"), ("topo.txt", "")])
def test_capability_of_a_loose_file(source: str, capability: str) -> None:
    assert {p[2] for p in named(parse(MATRIX, source))} == {capability}


@pytest.mark.parametrize(("content", "status"), [("GPU0 <-> GPU1 : OK", "OK"), ("GPU1-GPU0: TNS", "TNS")])
def test_pairs_as_people_write_them(content: str, status: str) -> None:
    assert named(parse(content)) == [("GPU0", "GPU1", "", status)]


@pytest.mark.parametrize("content", ["GPU0 <-> GPU1 : NV4", "GPU0     X      PHB     0-13", "GPU0 and GPU1 use U/V"])
def test_other_text_is_nothing(content: str) -> None:
    assert p2p.parse([text(content)]) is None


def test_every_capability_is_asked_for() -> None:
    assert [getattr(a, "argv", ())[-1] for a in p2p.PROBE.asks] == ["r", "w", "n", "a", "p"]


def test_any_text() -> None:
    parses_anything(p2p.PROBE, SAMPLES)
