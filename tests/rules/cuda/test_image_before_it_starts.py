"""The rules on an image that was looked into and not started."""

import pytest
from candidates import COMPAT, candidate, driver, gpus
from judging import found, judged
from scenes import quote

from qops.evidence.kernel import System
from qops.rule import Confidence, Role, RuledOut
from qops.rules.cuda.image_brings_other_libcuda import image_brings_other_libcuda
from qops.rules.cuda.image_fits import image_fits
from qops.rules.cuda.image_of_other_architecture import image_of_other_architecture
from qops.rules.cuda.image_ptx_newer_than_driver import image_ptx_newer_than_driver
from qops.rules.cuda.image_stub_on_loader_path import image_stub_on_loader_path
from qops.rules.cuda.image_too_new_for_driver import image_too_new_for_driver
from qops.rules.cuda.image_without_code_for_gpu import image_without_code_for_gpu

NEW, OLD = driver("580.126.09"), driver("570.172.08")
STUB = "/usr/local/cuda-13.0/lib64/stubs/libcuda.so.1"


def test_no_code_for_the_gpu() -> None:
    image = candidate({"torch": ("sm_80", "sm_90")}, others=("acme/blackwell:2",))
    (one,) = found(image_without_code_for_gpu, image, gpus())
    assert one.confidence is Confidence.CERTAIN
    assert "torch in it has no code for GPUs of compute capability 12.0, only sm_80, sm_90" in one.message
    assert "acme/blackwell:2" in one.message
    (one,) = found(image_without_code_for_gpu, candidate({"vllm": ("sm_90a",), "torch": ("sm_120",)}), gpus())
    assert one.confidence is Confidence.LIKELY and one.message.startswith("vllm in it")


@pytest.mark.parametrize(
    ("targets", "capability", "runs"),
    [
        (("sm_120",), "12.1", True),
        (("sm_120f",), "12.1", True),
        (("sm_120a",), "12.1", False),
        (("compute_90",), "12.0", True),
        (("compute_90a",), "12.0", False),
        (("sm_121a",), "12.1", True),
        (("sm_90",), "10.0", False),
        (("sm_86",), "8.9", True),
    ],
)
def test_targets_with_and_without_a_suffix(targets: tuple[str, ...], capability: str, runs: bool) -> None:
    outcome = found(image_without_code_for_gpu, candidate({"torch": targets}), gpus(capability=capability))
    assert bool(outcome) is not runs


def test_an_image_whose_kernels_nobody_saw_is_not_accused() -> None:
    assert judged(image_without_code_for_gpu, candidate({}), gpus()) == ()
    assert judged(image_without_code_for_gpu, candidate({"flash_attn": ("sm_80",)}), gpus()) == ()


def test_the_driver_is_too_old_for_the_image() -> None:
    (one,) = found(image_too_new_for_driver, candidate(), gpus(), OLD)
    assert "CUDA 13.0 needs driver 580 or later, and this host has 570.172.08: CUDA answers 35" in one.message
    (one,) = found(image_too_new_for_driver, candidate(compat=(COMPAT,)), gpus(), OLD)
    assert "804" in one.message and "35" not in one.message
    assert found(image_too_new_for_driver, candidate(), gpus(), NEW) == []


def test_forward_compatibility_on_a_data_centre_gpu_is_fine_and_on_an_unknown_one_is_not_judged() -> None:
    image = candidate(compat=(COMPAT,))
    (one,) = judged(image_too_new_for_driver, image, gpus("NVIDIA H200", "9.0"), OLD) or ()
    assert isinstance(one, RuledOut)
    assert judged(image_too_new_for_driver, image, gpus("NVIDIA A100-SXM4-80GB", "8.0"), OLD) == ()


def test_a_stale_compat_library_that_the_loader_is_told_of() -> None:
    (one,) = found(
        image_brings_other_libcuda, candidate(compat=(COMPAT,), loader=("/usr/local/cuda/compat",)), gpus(), NEW
    )
    assert (one.confidence, one.role) == (Confidence.LIKELY, None)
    assert "so CUDA answers 803" in one.message


def test_a_stale_compat_library_that_nothing_leads_to_is_only_possible() -> None:
    (one,) = found(image_brings_other_libcuda, candidate(compat=(COMPAT,)), gpus(), NEW)
    assert (one.confidence, one.role) == (Confidence.POSSIBLE, Role.CONTRIBUTING)


def test_a_driver_in_the_image_and_one_that_is_the_hosts() -> None:
    path = "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14"
    (one,) = found(image_brings_other_libcuda, candidate(drivers={path: "550.54.14"}), gpus(), NEW)
    assert path in one.message and "803" in one.message
    assert found(image_brings_other_libcuda, candidate(drivers={path: "580.126.09"}), gpus(), NEW) == []
    assert found(image_brings_other_libcuda, candidate(compat=(COMPAT,)), gpus(), OLD) == []


def test_a_stub_under_the_name_that_programs_load() -> None:
    told = candidate(stubs=(STUB,), loader=("/usr/local/cuda/lib64/stubs",))
    (one,) = found(image_stub_on_loader_path, told)
    assert "34" in one.message
    (out,) = judged(image_stub_on_loader_path, candidate(stubs=(STUB,))) or ()
    assert isinstance(out, RuledOut)


def test_ptx_that_the_driver_cannot_compile() -> None:
    late = candidate({"torch": ("sm_90", "compute_90")}, cuda="13.2.0")
    (one,) = found(image_ptx_newer_than_driver, late, gpus(), NEW)
    assert "222" in one.message and "595.45.04" in one.message
    assert found(image_ptx_newer_than_driver, late, gpus(), driver("595.58.03")) == []
    assert found(image_ptx_newer_than_driver, candidate(cuda="13.2.0"), gpus(), NEW) == []


def test_another_processor() -> None:
    here = System("6.17.0", "aarch64", quote=quote("uname"))
    (one,) = found(image_of_other_architecture, candidate(), here)
    assert "exec format error" in one.message
    assert found(image_of_other_architecture, candidate(architecture="arm64"), here) == []
    assert found(image_of_other_architecture, candidate(architecture=""), here) == []


def test_an_image_that_fits() -> None:
    (one,) = found(image_fits, candidate(), gpus(), NEW)
    assert "torch and vllm in it run on compute capability 12.0" in one.message
    assert found(image_fits, candidate(), gpus(), OLD) == []
    assert found(image_fits, candidate({"torch": ("sm_90",)}), gpus(), NEW) == []
    assert found(image_fits, candidate(), gpus()) == []  # the driver was not seen
    assert found(image_fits, candidate({}), gpus(), NEW) == []


@pytest.mark.parametrize(
    "rule",
    [
        image_without_code_for_gpu,
        image_too_new_for_driver,
        image_brings_other_libcuda,
        image_stub_on_loader_path,
        image_ptx_newer_than_driver,
        image_of_other_architecture,
        image_fits,
    ],
    ids=lambda rule: rule.code,
)
def test_without_an_image_nothing_is_known(rule) -> None:  # type: ignore[no-untyped-def]
    assert judged(rule, gpus(), NEW) is None
