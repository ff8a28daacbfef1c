import pytest
from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.nccl.duplicate_gpu import address, duplicate_gpu

OLD = """node7:3301:3301 [0] init.cc:791 NCCL WARN Duplicate GPU detected : rank 0 and rank 3 both on CUDA device 41000
node7:3304:3304 [0] init.cc:791 NCCL WARN Duplicate GPU detected : rank 3 and rank 0 both on CUDA device 41000
"""
NEW = (
    "[2026-08-02 11:20:01] node7:3301:3301 [0] init.cc:1100 NCCL WARN Multiple Ranks are using the same GPU/Partition. "
    "Set NCCL_MULTI_RANK_GPU_ENABLE=1 to enable this configuration.\n"
)


def test_two_ranks_on_one_gpu_are_named_once() -> None:
    (found,) = outcomes(duplicate_gpu, {"job.log": OLD}) or ()
    assert isinstance(found, Found)
    assert found.subject == "ranks 0 and 3"
    assert "0000:41:00.0" in found.message
    assert found.confidence is Confidence.CERTAIN


def test_the_wording_of_newer_releases() -> None:
    assert causes({"job.log": NEW}) == ["duplicate-gpu"]


def test_two_processes_on_one_gpu_without_the_error_are_no_fault() -> None:
    table = "| 0 N/A N/A 3301 C python3 9012MiB |\n| 0 N/A N/A 3304 C python3 9012MiB |\n"
    assert causes({"nvidia-smi.txt": table}) == []


@pytest.mark.parametrize(
    ("bus", "text"), [("60", "0000:00:06.0"), ("c1000", "0000:c1:00.0"), ("100f0000", "0100:f0:00.0")]
)
def test_the_bus_number_is_written_as_an_address(bus: str, text: str) -> None:
    assert address(bus) == text


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(duplicate_gpu, {}) is None
