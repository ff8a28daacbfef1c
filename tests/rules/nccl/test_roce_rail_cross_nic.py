from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.nccl.roce_rail_cross_nic import roce_rail_cross_nic as rule

LINE = (
    "gpu3:5:9 [5] ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_5:1, "
    "curr state INIT, next state RTR, local GID index 3, local GID ::ffff:{}, remote GID ::ffff:{}\n"
)


def test_two_rails_that_do_not_meet() -> None:
    files = {"job.log": LINE.format("10.5.0.3", "10.6.0.4")}
    (found,) = outcomes(rule, files) or ()
    assert isinstance(found, Found)
    assert found.confidence is Confidence.LIKELY and "10.5.0.3 and 10.6.0.4" in found.message
    assert causes(files)[:1] == ["roce-rail-cross-nic"]


def test_one_network_is_only_possible() -> None:
    (found,) = outcomes(rule, {"job.log": LINE.format("10.5.0.3", "10.5.0.4")}) or ()
    assert isinstance(found, Found)
    assert found.confidence is Confidence.POSSIBLE


def test_rails_kept_apart_rule_it_out() -> None:
    told = outcomes(rule, {"job.log": LINE.format("10.5.0.3", "10.6.0.4"), "env.txt": "NCCL_CROSS_NIC=0\n"}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_a_link_local_address_is_another_fault() -> None:
    line = LINE.replace("::ffff:{}", "fe80::1").format()
    assert "roce-rail-cross-nic" not in causes({"job.log": line})


def test_a_late_timeout_is_another_fault() -> None:
    line = (
        "n2:7:8 [0] NCCL WARN NET/IB: Got completion from peer 10.5.0.4<5001> with status=12 opcode=0 len=0 "
        "vendor err 129 (Send) hca mlx5_0\n"
    )
    assert causes({"job.log": line}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None
