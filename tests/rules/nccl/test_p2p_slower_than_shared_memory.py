from judging import found, judged
from peer_probes import OFF, arm, group, probe

from qops.evidence.peer_probe import Outcome
from qops.rules.nccl.p2p_slower_than_shared_memory import p2p_slower_than_shared_memory as rule

SLOW = arm("as is", Outcome.RIGHT, group(0, 1, seconds=0.03))  # 8.9 GB/s


def test_peers_are_slower_than_the_way_around() -> None:
    (one,) = found(rule, probe(SLOW, OFF))
    assert one.subject == "GPU 0 and GPU 1" and one.message.startswith("8.9 GB/s by peer-to-peer, and 22.4 GB/s")


def test_faster_or_about_as_fast_is_as_it_should_be() -> None:
    assert found(rule, probe(arm("as is"), OFF)) == []
    assert found(rule, probe(arm("as is", Outcome.RIGHT, group(0, 1, seconds=0.014)), OFF)) == []


def test_without_something_to_compare_nothing_is_said() -> None:
    assert judged(rule, probe(SLOW)) == ()
    around = arm("as is", Outcome.RIGHT, group(0, 1, by="SHM/direct/direct", seconds=0.03))
    assert judged(rule, probe(around, OFF)) == ()


def test_nothing_seen_is_unknown() -> None:
    assert judged(rule) is None
