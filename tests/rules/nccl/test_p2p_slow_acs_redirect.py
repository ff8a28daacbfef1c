from judging import causes, outcomes
from nccl_pictures import REDIRECT, bridge, card, start, topology

from qops.rule import RuledOut
from qops.rules.nccl.p2p_slow_acs_redirect import p2p_slow_acs_redirect as rule

PIX = topology("X PIX", "PIX X")
SLOW = "allreduce 256MiB 41.00 ms algbw 6.5 GB/s\n[rc=0]\n"
FAST = "allreduce 256MiB 9.00 ms algbw 29.8 GB/s\n[rc=0]\n"


def switch(acs: str) -> str:
    return bridge("00:01.1", 1, acs) + card("01:00.0")


def test_slow_p2p_below_one_switch_with_redirect() -> None:
    files = {"topo.txt": PIX, "lspci.txt": switch(REDIRECT), "job.log": start() + SLOW}
    assert causes(files) == ["p2p-slow-acs-redirect"]


def test_source_validation_is_no_redirect() -> None:
    assert causes({"topo.txt": PIX, "lspci.txt": switch("SrcValid"), "job.log": start() + SLOW}) == []


def test_a_good_rate_rules_it_out() -> None:
    told = outcomes(rule, {"topo.txt": PIX, "lspci.txt": switch(REDIRECT), "job.log": start() + FAST}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_redirect_without_a_measurement_is_no_finding() -> None:
    assert causes({"topo.txt": PIX, "lspci.txt": switch(REDIRECT)}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


RATES = """Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1      2
     0 902.10 {0:6.2f}  {1:6.2f}
     1 {0:6.2f} 901.40  {1:6.2f}
     2 {1:6.2f} {1:6.2f} 903.20
"""
THREE = topology("X PIX NODE", "PIX X NODE", "NODE NODE X")


def test_neighbours_below_one_switch_are_slower_than_those_across() -> None:
    slow = {"topo.txt": THREE, "lspci.txt": switch(REDIRECT), "p2p.txt": RATES.format(6.4, 9.1)}
    assert causes(slow) == ["p2p-slow-acs-redirect"]
    assert causes(slow | {"p2p.txt": RATES.format(25.9, 21.0)}) == []
    assert causes(slow | {"lspci.txt": switch("SrcValid")}) == []
