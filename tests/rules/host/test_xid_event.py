from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.xid_event import xid_event


def test_page_fault_alone() -> None:
    report = diagnose(
        {
            "dmesg.txt": "NVRM: Xid (PCI:0000:41:00): 31, pid=877, name=python3, MMU Fault\n",
        }
    )
    assert "xid-event" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.UNDETERMINED


def test_unknown_code() -> None:
    report = diagnose(
        {
            "dmesg.txt": "NVRM: Xid (PCI:0000:41:00): 109, pid=877, name=python3, CTX SWITCH TIMEOUT\n",
        }
    )
    assert "xid-event" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.UNDETERMINED


def test_look_alike_recovery_none() -> None:
    assert not outcomes(
        xid_event,
        {
            "dmesg.txt": (
                "NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
                "Required) to 0x0 (None)\n"
            ),
        },
    )


def test_look_alike_word_in_prose() -> None:
    assert not outcomes(
        xid_event,
        {
            "job.log": "no Xid was logged at 10:31\n",
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(xid_event, {})
