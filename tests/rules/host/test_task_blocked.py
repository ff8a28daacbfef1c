from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.task_blocked import task_blocked


def test_hung_task() -> None:
    report = diagnose(
        {
            "dmesg.txt": "INFO: task khugepaged:402 blocked for more than 245 seconds.\n",
        }
    )
    assert "task-blocked" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.UNDETERMINED


def test_look_alike_prose() -> None:
    assert not outcomes(
        task_blocked,
        {
            "job.log": "the task was blocked for a while\n",
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(task_blocked, {})
