from judging import text

from qops.probes.peer_rates import parse, recognise

MATRIX = """Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 901.10  11.02
     1  11.05 899.70
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 901.10  24.31
     1  24.40 899.70
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 902.00  47.90
     1  47.80 900.10
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   1.60   1.21
     1   1.22   1.61
"""


def test_the_one_way_matrix_with_p2p_counts() -> None:
    seen = parse([text(MATRIX)])
    assert seen is not None
    assert [(r.a, r.b, r.rate) for r in seen.rates] == [("GPU0", "GPU1", 24.31), ("GPU1", "GPU0", 24.4)]


def test_an_excerpt_of_the_other_one() -> None:
    seen = parse([text(MATRIX[MATRIX.index("Bidirectional") :])])
    assert seen is not None and seen.rates[0].rate == 47.9


def test_without_p2p_nothing_was_measured() -> None:
    assert parse([text(MATRIX[: MATRIX.index("Unidirectional P2P=Enabled")])]) is None
    assert not recognise(text("P2P is enabled between the GPUs\n"))


def test_a_torn_matrix_ends_where_it_is_torn() -> None:
    torn = "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D 0 1\n     0 901 22\nNCCL INFO 1 2\n  1 23 901\n"
    seen = parse([text(torn)])
    assert seen is not None and len(seen.rates) == 1
