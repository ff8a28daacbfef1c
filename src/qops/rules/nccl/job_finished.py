"""NCL814: a job ended well."""

from collections.abc import Iterator

from qops.data.messages import launch
from qops.evidence.engine import JobResults
from qops.evidence.message import Logs
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("NCL814", "job-finished", role=Role.INFO, severity=Severity.INFO)
def job_finished(logs: Logs, jobs: JobResults | None) -> Iterator[Found | RuledOut]:
    """A job ended with status 0, or nccl-tests with right results."""
    ended = jobs.jobs if jobs else ()
    passed = logs.first(launch.TEST_PASSED)
    if passed and not any(job.exit_status for job in ended):
        yield Found("job", "nccl-tests ended, and every result was right", (passed.quote,), Confidence.CERTAIN)
        return
    checked = logs.first(launch.SANITY_PASSED)
    if checked and not any(job.exit_status for job in ended):
        yield Found("job", "vLLM's check of NCCL came to its end", (checked.quote,), Confidence.CERTAIN)
        return
    for job in ended:
        if job.exit_status == 0:
            what = [f"{name} {ms:g} ms, {rate:g} GB/s" for name, ms, rate, _ in job.measured[:1]]
            yield Found(
                subject="job",
                message="ended with status 0" + (f"; measured {what[0]}" if what else ""),
                evidence=(job.quote, *(quote for *_, quote in job.measured[:1])),
                confidence=Confidence.CERTAIN,
            )
