from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.process_killed import process_killed


def test_exit_137() -> None:
    report = diagnose(
        {
            "docker.txt": "container exited with code 137\n",
        }
    )
    assert "process-killed" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.UNDETERMINED


def test_torch_elastic() -> None:
    report = diagnose(
        {
            "job.log": "  exitcode  : -9 (pid: 3121)\n",
        }
    )
    assert "process-killed" in [f.cause for f in report.findings]
    assert report.verdict is Verdict.UNDETERMINED


def test_look_alike_normal_end() -> None:
    assert not outcomes(
        process_killed,
        {
            "docker.txt": ("exited with code 0\nport 13700 closed\n"),
        },
    )


def test_look_alike_not_for_memory() -> None:
    assert not outcomes(
        process_killed,
        {
            "docker.txt": ('"OOMKilled": false,\n"ExitCode": 137,\n'),
        },
    )


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(process_killed, {})
