from judging import causes, diagnose, outcomes
from nccl_pictures import REDIRECT, bridge, card, p2p, spin, start, topology

from qops.report import Finding
from qops.rule import Confidence, Role, RuledOut
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


def switched(acs: str, above: str = "SrcValid") -> str:
    """Write two GPUs below the downstream ports of one switch, and the root port above it."""
    ports = bridge("00:01.1", 1, above).replace("subordinate=01", "subordinate=05")
    return ports + bridge("02:00.0", 3, acs) + bridge("02:01.0", 4, acs) + card("03:00.0") + card("04:00.0")


def contribution(files: dict[str, str]) -> Finding | None:
    assert causes(files) == []
    (first, *_) = [f for f in diagnose(files).findings if f.role is Role.CONTRIBUTING] or [None]
    return first


def test_a_detour_that_nobody_measured_contributes_and_is_no_cause() -> None:
    first = contribution({"topo.txt": PIX, "lspci.txt": switched(REDIRECT), "p2p.txt": p2p()})
    assert first is not None
    assert (first.cause, first.confidence) == ("p2p-slow-acs-redirect", Confidence.POSSIBLE)
    assert "0000:02:00.0, 0000:02:01.0" in first.message
    assert "nobody measured" in first.message
    assert first.fix


def test_a_job_that_works_over_p2p_makes_it_likely() -> None:
    files = {"topo.txt": PIX, "lspci.txt": switched(REDIRECT), "job.log": start() + "[rc=0]\n"}
    first = contribution(files)
    assert first is not None
    assert (first.cause, first.confidence) == ("p2p-slow-acs-redirect", Confidence.LIKELY)


def test_a_detour_is_not_there_when_peers_cannot_reach_each_other_or_nothing_is_below_one_switch() -> None:
    assert contribution({"topo.txt": PIX, "lspci.txt": switched(REDIRECT), "p2p.txt": p2p("CNS")}) is None
    assert contribution({"topo.txt": PIX, "lspci.txt": switched("SrcValid", REDIRECT)}) is None
    assert contribution({"topo.txt": PIX, "lspci.txt": switched("SrcValid")}) is None
    alone = contribution({"topo.txt": topology("X NODE", "NODE X"), "lspci.txt": switched(REDIRECT)})
    assert alone is None or alone.cause != "p2p-slow-acs-redirect"
    virtual = {
        "topo.txt": PIX,
        "lspci.txt": switched(REDIRECT),
        "cpu.txt": "Vendor ID: AuthenticAMD\nHypervisor vendor: KVM\n",
    }
    assert contribution(virtual) is None


def test_a_job_that_stands_still_is_not_called_slow() -> None:
    files = {"topo.txt": PIX, "lspci.txt": switched(REDIRECT), "smi.csv": spin()}
    assert "p2p-slow-acs-redirect" not in [f.cause for f in diagnose(files).findings]


def test_an_excerpt_without_addresses_is_not_enough() -> None:
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
