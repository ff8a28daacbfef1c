import pytest
from judging import causes, outcomes
from nccl_pictures import NVLINK, gpu_list, spin

from qops.rule import RuledOut
from qops.rules.nccl.custom_allreduce_unsupported import custom_allreduce_unsupported as rule

CAPTURE = (
    "(Worker_TP0 pid=811) Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):   0%|     | 0/35 [00:00<?, ?it/s]\n"
)
XIDS = (
    "[ 4410.120031] NVRM: Xid (PCI:0000:41:00): 62, pid=811, name=VLLM::Worker_TP, 30a8 00007ad8\n"
    "[ 4410.120994] NVRM: Xid (PCI:0000:81:00): 62, pid=812, name=VLLM::Worker_TP, 30a8 00007ad8\n"
)


def test_capture_stands_and_every_gpu_reports_the_same_xid() -> None:
    assert causes({"engine.log": CAPTURE, "dmesg.txt": XIDS})[:1] == ["custom-allreduce-unsupported"]


def test_capture_stands_although_nccl_uses_no_p2p() -> None:
    files = {"engine.log": CAPTURE, "env.txt": "NCCL_P2P_DISABLE=1\n", "smi.csv": spin()}
    assert "custom-allreduce-unsupported" in causes(files)


def test_an_old_architecture_that_stands_in_capture() -> None:
    files = {"engine.log": CAPTURE, "gpus.csv": gpu_list("Tesla V100-PCIE-32GB", capability="7.0"), "smi.csv": spin(62)}
    assert "custom-allreduce-unsupported" in causes(files)


@pytest.mark.parametrize(
    "change",
    [
        {"engine.log": CAPTURE + "Capturing CUDA graphs: 100%|##| 35/35\nGraph capturing finished in 21 secs\n"},
        {"engine.log": "Custom allreduce is disabled because your platform lacks GPU P2P capability\n" + CAPTURE},
        {"topo.txt": NVLINK},
        {"dmesg.txt": XIDS.splitlines()[0] + "\n"},
        {"dmesg.txt": ""},
    ],
    ids=["finished", "is off", "NVLink", "one GPU only", "slow, no Xid"],
)
def test_look_alikes(change: dict[str, str]) -> None:
    assert "custom-allreduce-unsupported" not in causes({"engine.log": CAPTURE, "dmesg.txt": XIDS} | change)


def test_its_own_message_rules_it_out() -> None:
    off = "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs.\n"
    told = outcomes(rule, {"engine.log": off + CAPTURE, "dmesg.txt": XIDS}) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


FAILED = "Failed: Cuda error /build/csrc/custom_all_reduce.cuh:391 'invalid argument'\n"


def test_its_own_code_failed() -> None:
    assert causes({"engine.log": FAILED})[:1] == ["custom-allreduce-unsupported"]


def test_the_allocator_is_the_nearer_cause_when_it_was_set_so() -> None:
    files = {"engine.log": FAILED, "env.txt": "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"}
    assert causes(files)[:1] == ["allocator-vs-custom-allreduce"]
