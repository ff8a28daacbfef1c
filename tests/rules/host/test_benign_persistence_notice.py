from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.benign_persistence_notice import benign_persistence_notice


def test_notice_is_no_fault() -> None:
    report = diagnose(
        {
            "dmesg.txt": (
                "NVRM: Persistence mode is deprecated and will be removed in a future release. Please "
                "use nvidia-persistenced instead.\n"
            ),
        }
    )
    assert "benign-persistence-notice" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_look_alike_mode_is_on() -> None:
    assert not outcomes(
        benign_persistence_notice,
        {
            "smi.txt": "    Persistence Mode                      : Enabled\n",
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(benign_persistence_notice, {})
