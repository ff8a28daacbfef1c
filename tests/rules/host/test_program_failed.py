import pytest
from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.host.program_failed import program_failed

TABLE = "GPU 0: NVIDIA L40S (UUID: GPU-0a1b2c3d)\n"


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "Segmentation fault (core dumped)",
        "Fatal Python error: Aborted",
        "Worker proc VllmWorker-3 died unexpectedly, shutting down executor.",
        "llm.service: Main process exited, code=exited, status=1/FAILURE",
    ],
)
def test_a_host_with_a_program_that_failed_is_not_healthy(line: str) -> None:
    report = diagnose({"job.log": line + "\n", "smi.txt": TABLE})
    assert report.verdict is Verdict.UNDETERMINED
    assert report.findings[0].cause == "program-failed"


def test_look_alike_an_error_that_the_engine_got_over() -> None:
    log = "Traceback (most recent call last):\nKeyError: 'x'\nINFO:     Application startup complete.\n"
    assert not outcomes(program_failed, {"job.log": log})


def test_look_alike_the_noise_of_a_stop() -> None:
    log = "INFO:     Shutting down\nTraceback (most recent call last):\nasyncio.exceptions.CancelledError\n"
    assert not outcomes(program_failed, {"job.log": log})


def test_look_alike_a_unit_that_ended_well() -> None:
    assert not outcomes(program_failed, {"j.txt": "llm.service: Main process exited, code=exited, status=0/SUCCESS\n"})


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(program_failed, {})
