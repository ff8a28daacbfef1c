from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.cuda.driver_library_version_mismatch import driver_library_version_mismatch


def test_nvml_says_so() -> None:
    files = {
        "nvidia-smi.txt": (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.126\n"
        ),
    }
    found = next(f for f in outcomes(driver_library_version_mismatch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "driver-library-version-mismatch"


def test_kernel_says_so() -> None:
    files = {
        "dmesg.txt": (
            "[ 812.4] NVRM: API mismatch: the client has the version 570.195.03, but\n"
            "[ 812.4] NVRM: this kernel module has the version 570.133.20.  Please\n"
        ),
    }
    found = next(f for f in outcomes(driver_library_version_mismatch, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "driver-library-version-mismatch"


def test_look_alike_upgrade_without_the_error() -> None:
    assert "driver-library-version-mismatch" not in causes(
        {
            "job.log": (
                "Commandline: /usr/bin/unattended-upgrade\n"
                "Upgrade: libnvidia-compute-580:amd64 (580.95.05, 580.126.09)\n"
            ),
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(driver_library_version_mismatch, {})
