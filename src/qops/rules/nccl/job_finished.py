"""NCL814: a job ended well."""

from collections.abc import Iterator

from qops.data.messages import launch
from qops.evidence.engine import JobResults
from qops.evidence.message import Logs
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("NCL814", "job-finished", role=Role.INFO, severity=Severity.INFO)
def job_finished(jobs: JobResults, logs: Logs | None) -> Iterator[Found | RuledOut]:
    """A job ended with status 0, or nccl-tests with right results."""
    passed = logs.first(launch.TEST_PASSED) if logs else None
    if passed and not any(job.exit_status for job in jobs.jobs):
        yield Found("job", "nccl-tests ended, and every result was right", (passed.quote,), Confidence.CERTAIN)
        return
    for job in jobs.jobs:
        if job.exit_status == 0:
            what = [f"{name} {ms:g} ms, {rate:g} GB/s" for name, ms, rate, _ in job.measured[:1]]
            yield Found(
                subject="job",
                message="ended with status 0" + (f"; measured {what[0]}" if what else ""),
                evidence=(job.quote, *(quote for *_, quote in job.measured[:1])),
                confidence=Confidence.CERTAIN,
            )
