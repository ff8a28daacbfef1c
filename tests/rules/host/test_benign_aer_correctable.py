from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.benign_aer_correctable import benign_aer_correctable


def test_a_few_is_no_fault() -> None:
    report = diagnose(
        {
            "dmesg.txt": (
                "pcieport 0000:40:01.1: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)\n"
            ),
        }
    )
    assert "benign-aer-correctable" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_look_alike_with_a_lost_gpu() -> None:
    assert not outcomes(
        benign_aer_correctable,
        {
            "dmesg.txt": (
                "pcieport 0000:40:01.1: PCIe Bus Error: severity=Correctable, type=Physical Layer, "
                "(Receiver ID)\n"
                "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n"
            ),
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(benign_aer_correctable, {})
