from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.cuda.no_kernel_image_for_arch import no_kernel_image_for_arch


def test_torch_209() -> None:
    files = {
        "job.log": "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
    }
    found = next(f for f in outcomes(no_kernel_image_for_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "no-kernel-image-for-arch"


def test_torch_warning() -> None:
    files = {
        "job.log": (
            "NVIDIA GeForce RTX 5080 with CUDA capability sm_120 is not compatible with the "
            "current PyTorch installation.\n"
        ),
    }
    found = next(f for f in outcomes(no_kernel_image_for_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "no-kernel-image-for-arch"


def test_ggml_wording() -> None:
    files = {
        "job.log": (
            "mmv.cu:51: ERROR: CUDA kernel mul_mat_vec has no device code compatible with CUDA "
            "arch 750. ggml-cuda.cu was compiled for: 890\n"
        ),
    }
    found = next(f for f in outcomes(no_kernel_image_for_arch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "no-kernel-image-for-arch"


def test_look_alike_missing_container_image() -> None:
    assert "no-kernel-image-for-arch" not in causes(
        {
            "job.log": ("docker: no such image: registry/kernel:latest\nkernel image /boot/vmlinuz-6.8.0 found\n"),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(no_kernel_image_for_arch, {})
