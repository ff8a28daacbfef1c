import pytest
from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.nccl.memlock_too_small import memlock_too_small as rule

VERBS = "n2:19:60 [0] misc/ibvwrap.cc:256 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n"
UCX = (
    "[1719.02] [n2:19:0] ib_md.c:287 UCX  ERROR ibv_reg_mr(address=0x7f01, length=65536, access=0xf) failed: Cannot "
    "allocate memory : Please set max locked memory (ulimit -l) to 'unlimited' (current: 8192 kbytes)\n"
)
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max locked memory         {0:<20} {0:<20} bytes     \n"
    "Max open files            1048576              1048576              files     \n"
)


@pytest.mark.parametrize("text", [VERBS, UCX])
def test_memory_cannot_be_locked(text: str) -> None:
    assert causes({"job.log": text})[:1] == ["memlock-too-small"]


def test_ucx_names_the_limit() -> None:
    (found,) = outcomes(rule, {"job.log": UCX}) or ()
    assert isinstance(found, Found)
    assert "8192 KiB" in found.message


def test_the_limit_makes_it_certain() -> None:
    (found,) = outcomes(rule, {"job.log": VERBS, "limits.txt": LIMITS.format(8388608)}) or ()
    assert isinstance(found, Found)
    assert found.confidence is Confidence.CERTAIN and "8192 KiB" in found.message


def test_no_limit_rules_it_out() -> None:
    told = outcomes(rule, {"job.log": VERBS, "limits.txt": LIMITS.format("unlimited")}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_other_failures_to_allocate_are_another_fault() -> None:
    text = "OSError: [Errno 12] Cannot allocate memory\nfork: Cannot allocate memory\n"
    assert "memlock-too-small" not in causes({"job.log": text, "limits.txt": LIMITS.format(8388608)})


def test_a_small_limit_alone_is_no_fault() -> None:
    assert causes({"limits.txt": LIMITS.format(65536)}) == []


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


def test_the_plug_in_for_libfabric_says_it_too() -> None:
    line = "ip-1:5:9 [0] NCCL WARN NET/OFI Unable to register memory (type = 2) for device 1. RC: -12, Error: Cannot allocate memory\n"
    assert causes({"job.log": line})[:1] == ["memlock-too-small"]
