from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.cuda.cuda_error import cuda_error


def test_unspecified_launch_failure() -> None:
    report = diagnose(
        {
            "job.log": "CUDA error: unspecified launch failure\n",
        }
    )
    assert "cuda-error" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.UNDETERMINED


def test_out_of_memory() -> None:
    report = diagnose(
        {
            "job.log": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
        }
    )
    assert "cuda-error" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.UNDETERMINED


def test_look_alike_success_names() -> None:
    assert not outcomes(
        cuda_error,
        {
            "job.log": ("cudaSuccess\nCUBLAS_STATUS_SUCCESS\ncudaError_t is a type\n"),
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(cuda_error, {})
