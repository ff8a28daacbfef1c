from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.benign_acs_source_validation import benign_acs_source_validation


def test_source_validation_is_no_fault() -> None:
    report = diagnose(
        {
            "lspci.txt": (
                "40:01.1 PCI bridge: Example Root Port (prog-if 00 [Normal decode])\n"
                "\tBus: primary=40, secondary=41, subordinate=41, sec-latency=0\n"
                "\tCapabilities: [2a0 v1] Access Control Services\n"
                "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- "
                "DirectTrans-\n"
                "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- "
                "DirectTrans-\n"
            ),
        }
    )
    assert "benign-acs-source-validation" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_look_alike_redirect() -> None:
    assert not outcomes(
        benign_acs_source_validation,
        {
            "lspci.txt": (
                "40:01.1 PCI bridge: Example Root Port (prog-if 00 [Normal decode])\n"
                "\tBus: primary=40, secondary=41, subordinate=41, sec-latency=0\n"
                "\tCapabilities: [2a0 v1] Access Control Services\n"
                "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- "
                "DirectTrans-\n"
            ),
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(benign_acs_source_validation, {})
