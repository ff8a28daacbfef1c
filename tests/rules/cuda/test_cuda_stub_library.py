from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.cuda.cuda_stub_library import cuda_stub_library


def test_torch_34() -> None:
    files = {
        "job.log": (
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 34: CUDA driver is a stub library\n"
        ),
    }
    found = next(f for f in outcomes(cuda_stub_library, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "cuda-stub-library"


def test_numba_34_and_the_mapped_path() -> None:
    files = {
        "job.log": (
            "Mapped libcuda.so paths:\n"
            "        /usr/local/cuda-12.6/targets/x86_64-linux/lib/stubs/libcuda.so\n"
            "CudaAPIError: [34] Call to cuInit results in CUDA_ERROR_STUB_LIBRARY\n"
        ),
    }
    found = next(f for f in outcomes(cuda_stub_library, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "cuda-stub-library"


def test_number_alone() -> None:
    files = {
        "job.log": ("34\n[rc=0]\n"),
    }
    found = next(f for f in outcomes(cuda_stub_library, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "cuda-stub-library"


def test_look_alike_stubs_in_a_toolkit_are_normal() -> None:
    assert "cuda-stub-library" not in causes(
        {
            "job.log": (
                "/usr/local/cuda-13.0/targets/x86_64-linux/lib/stubs/libcuda.so\n"
                "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05\n"
            ),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(cuda_stub_library, {})
