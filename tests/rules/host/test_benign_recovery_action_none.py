from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.benign_recovery_action_none import benign_recovery_action_none


def test_none_is_no_fault() -> None:
    report = diagnose(
        {
            "smi.txt": "    GPU Recovery Action                   : None\n",
        }
    )
    assert "benign-recovery-action-none" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_look_alike_reset() -> None:
    assert not outcomes(
        benign_recovery_action_none,
        {
            "smi.txt": "    GPU Recovery Action                   : Reset\n",
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(benign_recovery_action_none, {})
