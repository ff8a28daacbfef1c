from judging import diagnose, outcomes

from qops.report import Verdict
from qops.rules.nccl.communicators_ended import communicators_ended

LINE = (
    "node{n}:90{n}:90{n} [{n}] NCCL INFO comm 0x7f20{n} rank {n} nranks 2 cudaDev {n} busId 1{n}000 - {end} COMPLETE\n"
)


def test_a_job_that_came_to_its_end() -> None:
    log = "".join(LINE.format(n=n, end="Init") + LINE.format(n=n, end="Destroy") for n in (0, 1))
    assert diagnose({"job.log": log}).verdict is Verdict.HEALTHY


def test_a_start_alone_shows_no_end() -> None:
    log = "".join(LINE.format(n=n, end="Init") for n in (0, 1))
    assert outcomes(communicators_ended, {"job.log": log}) == ()
    assert diagnose({"job.log": log}).verdict is Verdict.UNDETERMINED


def test_nothing_seen_is_unknown() -> None:
    assert not outcomes(communicators_ended, {})
