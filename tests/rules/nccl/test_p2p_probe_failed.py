from judging import found, judged
from peer_probes import HUNG, OFF, arm, group, probe
from scenes import quote

from qops.evidence.gpu import DriverModule, Gpu, Gpus
from qops.evidence.peer_probe import Outcome
from qops.rule import Confidence, RuledOut
from qops.rules.nccl.p2p_probe_failed import p2p_probe_failed as rule


def test_a_hang_with_peers_and_none_without() -> None:
    (one,) = found(rule, probe(HUNG, OFF))
    assert (one.subject, one.confidence) == ("GPU 0, GPU 1", Confidence.CERTAIN)
    assert "hung on 2026-10-02" in one.message


def test_wrong_data_names_the_pair() -> None:
    bad = arm("wide", Outcome.WRONG, group(0, 1, 2), group(0, 1), group(1, 2, wrong=37))
    (one,) = found(rule, probe(arm("as is"), bad, OFF))
    assert one.subject == "GPU 1, GPU 2" and "wrong data" in one.message


def test_what_fails_without_peers_as_well_is_not_their_fault() -> None:
    assert judged(rule, probe(HUNG, arm("off", Outcome.HUNG, group(0, 1, by="SHM/direct/direct", seconds=None)))) == ()
    assert judged(rule, probe(HUNG)) == ()


def test_a_hang_over_shared_memory_is_not_the_fault_of_peers() -> None:
    assert judged(rule, probe(arm("as is", Outcome.HUNG, group(0, 1, by="SHM/direct/direct", seconds=None)), OFF)) == ()


def test_a_probe_that_passed_rules_it_out() -> None:
    (one,) = judged(rule, probe(arm("as is"), OFF)) or ()
    assert isinstance(one, RuledOut)


def test_a_probe_under_another_driver_or_of_other_gpus_says_nothing() -> None:
    assert judged(rule, probe(HUNG, OFF), DriverModule("590.44.01", True, quote("NVRM"))) == ()
    swapped = Gpus((Gpu(0, quote("gpu"), uuid="GPU-a1"), Gpu(1, quote("gpu"), uuid="GPU-c3")))
    assert judged(rule, probe(HUNG, OFF), swapped) == ()


def test_nothing_seen_is_unknown() -> None:
    assert judged(rule) is None
