from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.cuda.forward_compat_unsupported_gpu import forward_compat_unsupported_gpu


def test_torch_804() -> None:
    files = {
        "job.log": "RuntimeError: Error 804: forward compatibility was attempted on non supported HW\n",
    }
    found = next(f for f in outcomes(forward_compat_unsupported_gpu, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "forward-compat-unsupported-gpu"


def test_entry_script_804() -> None:
    files = {
        "job.log": (
            "[[Forward compatibility was attempted on non supported HW "
            "(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE) cuInit()=804]]\n"
        ),
    }
    found = next(f for f in outcomes(forward_compat_unsupported_gpu, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "forward-compat-unsupported-gpu"


def test_803_with_a_compat_newer_than_the_module() -> None:
    files = {
        "job.log": ("803\n[rc=0]\n"),
        "cuda-dirs.txt": (
            "# ls /usr/local/cuda*/compat; find / -name 'libcuda.so*'\n"
            "/usr/local/cuda-12.9/compat:\n"
            "libcuda.so\n"
            "libcuda.so.1\n"
            "libcuda.so.575.57.08\n"
            "/usr/local/cuda-12.9/compat/libcuda.so.575.57.08\n"
        ),
        "proc-driver-nvidia-version": (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  "
            "(dvs-builder@x)  Tue Nov 11\n"
        ),
    }
    found = next(f for f in outcomes(forward_compat_unsupported_gpu, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "forward-compat-unsupported-gpu"


def test_look_alike_803_is_another_error() -> None:
    assert "forward-compat-unsupported-gpu" not in causes(
        {
            "job.log": "Error 803: system has unsupported display driver / cuda driver combination\n",
        }
    )


def test_look_alike_compat_mode_that_works() -> None:
    assert "forward-compat-unsupported-gpu" not in causes(
        {
            "job.log": (
                "NOTE: CUDA Forward Compatibility mode ENABLED.\n"
                "  Using CUDA 13.0 driver version 580.65.06 with kernel driver version 550.54.15.\n"
            ),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(forward_compat_unsupported_gpu, {})
