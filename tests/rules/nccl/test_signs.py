"""Symptoms, and signs that a machine works: they never accuse."""

from judging import diagnose, found, judged
from scenes import IDLE, WAITING, WORKING, answer, machine, processes, quote, ras, readings

from qops.evidence.engine import JobResult, JobResults
from qops.evidence.message import Hit, Logs
from qops.report import Verdict
from qops.rule import Role, RuledOut
from qops.rules.nccl.benign_loading import benign_loading
from qops.rules.nccl.benign_waiting_for_compiler import benign_waiting_for_compiler
from qops.rules.nccl.benign_working import benign_working
from qops.rules.nccl.collective_hang import collective_hang
from qops.rules.nccl.job_failed import job_failed
from qops.rules.nccl.job_finished import job_finished
from qops.rules.nccl.watchdog_timeout import watchdog_timeout


def test_a_hang_is_seen_by_spinning_gpus() -> None:
    (one,) = found(collective_hang, readings(WAITING, WAITING), machine())
    assert "118 W of 600 W" in one.message
    assert collective_hang.role is Role.SYMPTOM


def test_growing_counts_refute_a_hang() -> None:
    moving = ras(answer(0, ("c1", (7, 7))), answer(5, ("c1", (90, 90))))
    (one,) = judged(collective_hang, readings(WAITING, WAITING), machine(), moving) or ()
    assert isinstance(one, RuledOut)


def test_waiting_for_a_compiler_is_no_hang_and_is_said() -> None:
    busy = processes("S", "R", children=(("ninja",), ()))
    lag = ras(answer(0, ("c1", (6, 7))), answer(5, ("c1", (6, 7))))
    assert found(collective_hang, readings(IDLE, WAITING), machine(), lag, busy) == []
    (one,) = found(benign_waiting_for_compiler, busy, lag, machine())
    assert one.subject.startswith("rank 0")


def test_work_and_load_are_named() -> None:
    assert len(found(benign_working, readings(WORKING, WORKING), machine())) == 2
    assert found(benign_working, readings(WAITING, IDLE), machine()) == []
    assert len(found(benign_loading, readings((3, 0, 110.0, 900), (3, 0, 110.0, 900), growth=600))) == 2
    assert found(benign_loading, readings(WORKING, IDLE)) == []


def test_a_jobs_status_counts_unless_it_was_ended_from_outside() -> None:
    assert found(job_finished, Logs(), JobResults((JobResult(quote("[rc=0]"), 0),)))
    assert found(job_failed, JobResults((JobResult(quote("[rc=1]"), 1),)))
    assert found(job_failed, JobResults((JobResult(quote("[rc=124]"), 124),))) == []


def test_the_watchdog_is_a_symptom() -> None:
    assert found(watchdog_timeout, Logs((Hit("torch-watchdog-timeout", quote("Watchdog caught")),)))
    assert found(watchdog_timeout, Logs()) == []


def test_nothing_seen_is_unknown() -> None:
    for rule in (
        benign_working,
        benign_loading,
        benign_waiting_for_compiler,
        job_finished,
        job_failed,
        watchdog_timeout,
    ):
        assert judged(rule) is None


def test_nccl_tests_with_right_results_is_a_good_sign() -> None:
    passed = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 21.7\n"
    assert diagnose({"job.log": passed}).verdict is Verdict.HEALTHY
    assert diagnose({"job.log": passed.replace("0 OK", "3 FAILED")}).verdict is not Verdict.HEALTHY


def test_vllms_check_of_nccl_that_came_to_its_end() -> None:
    log = (
        "vLLM NCCL is successful!\nvLLM NCCL with cuda graph is successful!\nvLLM NCCL with cuda graph is successful!\n"
    )
    assert diagnose({"job.log": log}).verdict is Verdict.HEALTHY
    assert diagnose({"job.log": "PyTorch NCCL is successful!\n"}).verdict is not Verdict.HEALTHY
    hung = (
        log
        + "INFO 10-01 08:00:00 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.\n"
    )
    assert diagnose({"job.log": hung}).verdict is Verdict.UNDETERMINED
