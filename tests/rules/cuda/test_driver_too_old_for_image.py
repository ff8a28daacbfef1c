from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.cuda.driver_too_old_for_image import driver_too_old_for_image


def test_torch_names_the_version() -> None:
    files = {
        "job.log": (
            "RuntimeError: The NVIDIA driver on your system is too old (found version 12040). "
            "Please update your GPU driver\n"
        ),
    }
    found = next(f for f in outcomes(driver_too_old_for_image, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "driver-too-old-for-image"


def test_image_condition_is_not_met() -> None:
    files = {
        "docker.txt": (
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please "
            "update your driver to a newer version\n"
        ),
    }
    found = next(f for f in outcomes(driver_too_old_for_image, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "driver-too-old-for-image"


def test_runtime_sample_gives_a_code() -> None:
    files = {
        "job.log": ('CUDA error at main.cu:41 code=35(cudaErrorInsufficientDriver) "cudaGetDeviceCount(&n)"\n'),
    }
    found = next(f for f in outcomes(driver_too_old_for_image, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "driver-too-old-for-image"


def test_entry_script_of_an_image() -> None:
    files = {
        "job.log": (
            "ERROR: This container was built for NVIDIA Driver Release 590.44 or later, but\n"
            "       version 570.86.10 was detected and compatibility mode is UNAVAILABLE.\n"
        ),
    }
    found = next(f for f in outcomes(driver_too_old_for_image, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "driver-too-old-for-image"


def test_ptx_is_newer_than_the_driver() -> None:
    files = {
        "job.log": (
            "torch.AcceleratorError: CUDA error: the provided PTX was compiled with an unsupported toolchain.\n"
        ),
    }
    found = next(f for f in outcomes(driver_too_old_for_image, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "driver-too-old-for-image"


def test_look_alike_lower_cuda_version_alone_is_minor_compatibility() -> None:
    assert "driver-too-old-for-image" not in causes(
        {
            "nvidia-smi.txt": "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |\n",
            "env.txt": "CUDA_VERSION=12.8.1\n",
        }
    )


def test_look_alike_brand_condition_is_another_matter() -> None:
    assert "driver-too-old-for-image" not in causes(
        {
            "docker.txt": "requirement error: unsatisfied condition: brand = tesla\n",
        }
    )


def test_ruled_out_when_no_driver_at_all() -> None:
    files = {
        "job.log": (
            "CUDA driver version is insufficient for CUDA runtime version\n"
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
        ),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(driver_too_old_for_image, files) or ())
    assert "driver-too-old-for-image" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(driver_too_old_for_image, {})
