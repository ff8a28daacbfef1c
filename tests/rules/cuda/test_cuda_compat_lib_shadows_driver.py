from judging import causes, outcomes

from qops.rule import Confidence, Found, Role, RuledOut
from qops.rules.cuda.cuda_compat_lib_shadows_driver import cuda_compat_lib_shadows_driver


def test_compat_on_the_loader_path() -> None:
    files = {
        "job.log": (
            "Error 803: system has unsupported display driver / cuda driver combination\n"
            "libcuda.so.1 => /usr/local/cuda-13.0/compat/libcuda.so.1\n"
        ),
    }
    found = next(f for f in outcomes(cuda_compat_lib_shadows_driver, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "cuda-compat-lib-shadows-driver"


def test_error_alone_is_only_possible() -> None:
    files = {
        "job.log": (
            "[[System has unsupported display driver / cuda driver combination "
            "(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) cuInit()=803]]\n"
        ),
    }
    found = next(f for f in outcomes(cuda_compat_lib_shadows_driver, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.POSSIBLE
    assert found.evidence
    assert causes(files)[0] == "cuda-compat-lib-shadows-driver"


def test_compat_is_older_than_the_module() -> None:
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
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  "
            "(dvs-builder@x)  Tue Nov 11\n"
        ),
    }
    found = next(f for f in outcomes(cuda_compat_lib_shadows_driver, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "cuda-compat-lib-shadows-driver"


def test_look_alike_compat_folder_without_the_error() -> None:
    assert "cuda-compat-lib-shadows-driver" not in causes(
        {
            "job.log": ("libcuda.so.1 => /usr/local/cuda-13.0/compat/libcuda.so.1\nserving\n"),
        }
    )


def test_look_alike_old_compat_folder_on_a_healthy_host() -> None:
    assert "cuda-compat-lib-shadows-driver" not in causes(
        {
            "cuda-dirs.txt": (
                "# ls /usr/local/cuda*/compat; find / -name 'libcuda.so*'\n"
                "/usr/local/cuda-12.9/compat:\n"
                "libcuda.so\n"
                "libcuda.so.1\n"
                "libcuda.so.575.57.08\n"
                "/usr/local/cuda-12.9/compat/libcuda.so.575.57.08\n"
            ),
            "proc-driver-nvidia-version": (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  "
                "(dvs-builder@x)  Tue Nov 11\n"
            ),
        }
    )


def test_ruled_out_when_library_and_module_differ() -> None:
    files = {
        "job.log": (
            "Error 803: system has unsupported display driver / cuda driver combination\n"
            "Failed to initialize NVML: Driver/library version mismatch\n"
        ),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(cuda_compat_lib_shadows_driver, files) or ())
    assert "cuda-compat-lib-shadows-driver" not in causes(files)


def test_ruled_out_when_compat_is_newer_than_the_module() -> None:
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
    assert any(isinstance(o, RuledOut) for o in outcomes(cuda_compat_lib_shadows_driver, files) or ())
    assert "cuda-compat-lib-shadows-driver" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(cuda_compat_lib_shadows_driver, {})


def test_what_the_loader_takes_first_is_told_before_a_program_fails() -> None:
    files = {
        "ldconfig.txt": (
            "== libraries\n"
            "/usr/local/cuda/compat/libcuda.so.1 -> /usr/local/cuda/compat/libcuda.so.575.57.08\n"
            "== loader\n"
            "\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda/compat/libcuda.so.1\n"
            "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
        ),
        "proc-driver-nvidia-version": (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  "
            "(dvs-builder@x)  Tue Nov 11\n"
        ),
    }
    found = next(f for f in outcomes(cuda_compat_lib_shadows_driver, files) or () if isinstance(f, Found))
    assert (found.role, found.confidence) == (Role.CONTRIBUTING, Confidence.LIKELY)
    behind = files | {
        "ldconfig.txt": files["ldconfig.txt"].replace(
            "== loader\n", "== loader\n\tlibcuda.so.1 (libc6,x86-64) => /usr/lib64/libcuda.so.1\n"
        )
    }
    assert not outcomes(cuda_compat_lib_shadows_driver, behind)
