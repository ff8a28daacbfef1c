from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.benign_iommu_translated_off import benign_iommu_translated_off


def test_switched_off_is_no_fault() -> None:
    report = diagnose(
        {
            "dmesg.txt": (
                "[ 0.1] Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro amd_iommu=off\n"
                "[ 0.9] iommu: Default domain type: Translated\n"
            ),
        }
    )
    assert "benign-iommu-translated-off" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_look_alike_not_switched_off() -> None:
    assert not outcomes(
        benign_iommu_translated_off,
        {
            "dmesg.txt": "[ 0.9] iommu: Default domain type: Translated\n",
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(benign_iommu_translated_off, {})
