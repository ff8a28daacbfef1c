from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.benign_exit_137 import benign_exit_137


def test_stopped_is_no_fault() -> None:
    report = diagnose(
        {
            "docker.txt": ('"OOMKilled": false,\n"ExitCode": 137,\n'),
        }
    )
    assert "benign-exit-137" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.HEALTHY


def test_look_alike_killed_for_memory() -> None:
    assert not outcomes(
        benign_exit_137,
        {
            "docker.txt": ('"OOMKilled": true,\n"ExitCode": 137,\n'),
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(benign_exit_137, {})
