from judging import causes, outcomes

from qops.rule import Confidence, Found
from qops.rules.host.gpu_not_supported_by_driver import gpu_not_supported_by_driver


def test_old_branch() -> None:
    files = {
        "dmesg.txt": (
            "NVRM: The NVIDIA GPU 0000:41:00.0 (PCI ID: 10de:2684)\n"
            "NVRM: installed in this system is not supported by the\n"
            "NVRM: NVIDIA 470.256.02 driver release.\n"
        ),
    }
    found = next(f for f in outcomes(gpu_not_supported_by_driver, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.CERTAIN
    assert found.evidence
    assert causes(files)[0] == "gpu-not-supported-by-driver"


def test_look_alike_another_thing_is_not_supported() -> None:
    assert "gpu-not-supported-by-driver" not in causes(
        {
            "dmesg.txt": "ACPI: this table is not supported by the firmware\n",
        }
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(gpu_not_supported_by_driver, {})
