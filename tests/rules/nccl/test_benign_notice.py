import pytest
from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.nccl.benign_notice import benign_notice as rule

PLUGINS = (
    "h1:9:9 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.\n"
    "h1:9:9 [0] NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so\n"
)
DESTROYED = (
    "[rank0]:[W1101 08:00:00.000000001 ProcessGroupNCCL.cpp:1538] Warning: WARNING: destroy_process_group() was not "
    "called before program exit, which can leak resources. (function operator())\n"
)
THREADS = (
    "W1101 08:00:00.001 77 torch/distributed/run.py:803] \n"
    "W1101 08:00:00.001 77 torch/distributed/run.py:803] *****************************************\n"
    "W1101 08:00:00.001 77 torch/distributed/run.py:803] Setting OMP_NUM_THREADS environment variable for each process "
    "to be 1 in default, to avoid your system being overloaded.\n"
    "W1101 08:00:00.001 77 torch/distributed/run.py:803] *****************************************\n"
)
NO_P2P = "h1:9:9 [1] NCCL INFO P2P is disabled between connected GPUs 1 and 0. You can repress this message with NCCL_IGNORE_DISABLED_P2P=1.\n"


@pytest.mark.parametrize("log", [PLUGINS, DESTROYED, NO_P2P, PLUGINS + DESTROYED], ids=range(4))
def test_notices_alone_are_no_fault(log: str) -> None:
    report = diagnose({"job.log": log})
    assert report.verdict is Verdict.HEALTHY
    assert report.findings[0].cause == "benign-notice"


def test_torchruns_notice_with_its_frame() -> None:
    assert diagnose({"job.log": "".join(THREADS.splitlines(keepends=True)[1:])}).verdict is Verdict.HEALTHY


@pytest.mark.parametrize(
    "more",
    [
        "h1:9:9 [0] NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 - Init COMPLETE\n",
        "Traceback (most recent call last):\n",
        "RuntimeError: NCCL error: unhandled system error\n",
        "INFO 11-01 08:00:00 [pynccl.py:113] vLLM is using nccl==2.28.9\n",
    ],
)
def test_a_log_that_says_more_is_not_called_healthy(more: str) -> None:
    assert diagnose({"job.log": PLUGINS + more}).verdict is not Verdict.HEALTHY
    assert diagnose({"job.log": PLUGINS, "other.log": more}).verdict is not Verdict.HEALTHY


def test_all_reduce_off_across_hosts_is_no_notice() -> None:
    log = "[TP0] Custom allreduce is disabled because this process group spans across nodes.\n"
    assert diagnose({"job.log": log}).verdict is Verdict.UNDETERMINED


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None
