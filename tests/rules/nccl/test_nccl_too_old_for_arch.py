from judging import causes, diagnose, outcomes
from nccl_pictures import gpu_list

from qops.rule import Role
from qops.rules.nccl.nccl_too_old_for_arch import nccl_too_old_for_arch as rule

BOARDS = gpu_list("NVIDIA GeForce RTX 5090")
OLD = "ws:880:880 [0] NCCL INFO NCCL version 2.26.2+cuda12.2\n"
FAILED = "ws:880:901 [0] enqueue.cc:1595 NCCL WARN Cuda failure 700 'an illegal memory access was encountered'\n"


def test_an_old_build_and_a_failed_call() -> None:
    assert causes({"job.log": OLD + FAILED, "gpus.csv": BOARDS})[:1] == ["nccl-too-old-for-arch"]


def test_its_kernels_ask_for_more_shared_memory_than_there_is() -> None:
    line = "ws:880:881 [0] NCCL INFO ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 79856\n"
    assert causes({"job.log": "ws:880:880 [0] NCCL INFO NCCL version 2.25.1+cuda12.8\n" + line}) == [
        "nccl-too-old-for-arch"
    ]


def test_a_new_build_with_the_same_failure_is_another_fault() -> None:
    new = OLD.replace("2.26.2+cuda12.2", "2.28.9+cuda12.9")
    assert "nccl-too-old-for-arch" not in causes({"job.log": new + FAILED, "gpus.csv": BOARDS})


def test_an_old_build_on_an_older_gpu_is_no_fault() -> None:
    boards = gpu_list("NVIDIA H100 80GB HBM3", capability="9.0")
    assert "nccl-too-old-for-arch" not in causes({"job.log": OLD + FAILED, "gpus.csv": boards})


def test_an_old_build_without_a_failure_is_a_warning() -> None:
    report = diagnose({"job.log": OLD, "gpus.csv": BOARDS})
    (finding,) = [f for f in report.findings if f.cause == "nccl-too-old-for-arch"]
    assert finding.role is Role.CONTRIBUTING and report.root is None


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None


def test_nccl_tests_names_the_board() -> None:
    log = (
        "#  Rank  0 Group  0 Pid   4711 on     box7 device  0 [0x21] NVIDIA GeForce RTX 5080\n"
        "NCCL version 2.20.5+cuda12.4\n"
        "box7:4711:4720 [0] enqueue.cc:1470 NCCL WARN Cuda failure 209 'no kernel image is available for execution on the device'\n"
    )
    assert causes({"job.log": log})[:1] == ["nccl-too-old-for-arch"]
    assert "nccl-too-old-for-arch" not in causes({"job.log": log.replace("5080", "4080")})


def test_a_release_that_is_known_for_illegal_accesses_on_these_boards() -> None:
    line = OLD.replace("cuda12.2", "cuda12.8")
    boards = gpu_list("NVIDIA RTX PRO 6000 Blackwell Workstation Edition")
    assert causes({"job.log": line + FAILED, "gpus.csv": boards})[:1] == ["nccl-too-old-for-arch"]
    later = line.replace("2.26.2", "2.31.2")
    assert causes({"job.log": later + FAILED, "gpus.csv": boards})[:1] == ["kernel-bug-illegal-access"]
    elsewhere = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
    assert "nccl-too-old-for-arch" not in causes({"job.log": line + elsewhere, "gpus.csv": boards})
