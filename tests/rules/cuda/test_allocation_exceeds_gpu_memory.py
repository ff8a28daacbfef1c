from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.cuda.allocation_exceeds_gpu_memory import allocation_exceeds_gpu_memory


def test_larger_than_the_card() -> None:
    files = {
        "job.log": (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 GiB. GPU 1 has a "
            "total capacity of 44.52 GiB of which 40.01 GiB is free.\n"
        ),
    }
    found = next(f for f in outcomes(allocation_exceeds_gpu_memory, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "allocation-exceeds-gpu-memory"


def test_look_alike_would_fit_an_empty_card() -> None:
    assert "allocation-exceeds-gpu-memory" not in causes(
        {
            "job.log": (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a "
                "total capacity of 44.52 GiB of which 100.00 MiB is free.\n"
            ),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(allocation_exceeds_gpu_memory, {})
