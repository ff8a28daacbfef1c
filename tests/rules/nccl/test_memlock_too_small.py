import pytest
from judging import causes, diagnose, outcomes

from qops.report import Verdict
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


MEMINFO = (
    "MemTotal:       127535932 kB\nMemFree:          812344 kB\nMemAvailable:   61234567 kB\nCached:   58234567 kB\n"
)
GB10 = "GPU 0: NVIDIA GB10 (UUID: GPU-1)\n"


def test_a_registration_that_failed_is_never_healthy() -> None:
    report = diagnose({"job.log": VERBS, "limits.txt": LIMITS.format("unlimited"), "smi.txt": GB10})
    assert report.verdict is Verdict.UNDETERMINED
    assert report.findings[0].cause == "ib-completion-error"


def test_without_a_limit_it_is_the_shared_memory_of_a_gb10_that_is_full() -> None:
    files = {"job.log": VERBS, "smi.txt": GB10, "mem.txt": MEMINFO}
    assert causes({**files, "limits.txt": LIMITS.format("unlimited")}) == ["gb10-unified-memory-oom"]
    assert causes({**files, "limits.txt": LIMITS.format(65536)}) == ["memlock-too-small"]
    enough = MEMINFO.replace("812344", "61234567")
    assert causes({**files, "mem.txt": enough, "limits.txt": LIMITS.format("unlimited")}) == []


def test_no_limit_counts_the_memory_of_a_gpu() -> None:
    line = "n2:19:60 [5] misc/ibvwrap.cc:183 NCCL WARN Call to ibv_reg_dmabuf_mr failed with error Cannot allocate memory\n"
    assert "memlock-too-small" not in causes({"job.log": line})
    assert diagnose({"job.log": line}).verdict is Verdict.UNDETERMINED
    assert causes({"job.log": line + VERBS})[:1] == ["memlock-too-small"]


def test_old_releases_do_not_say_which_error() -> None:
    line = "[1,3]<stdout>:n3:19:60 [1] misc/ibvwrap.cu:212 NCCL WARN Call to ibv_reg_mr failed\n"
    assert causes({"job.log": line, "limits.txt": LIMITS.format(65536)})[:1] == ["memlock-too-small"]
    assert causes({"job.log": line}) == ["memlock-too-small"]
    unlimited = diagnose({"job.log": line, "limits.txt": LIMITS.format("unlimited")})
    assert unlimited.verdict is Verdict.UNDETERMINED
