"""NCL903: a job ended with an error status."""

from collections.abc import Iterator

from qops.evidence.engine import JobResults
from qops.rule import Confidence, Found, Role, RuledOut, rule

# 124 is `timeout` that ended the job, 130 and 143 a person or a service manager that did: the status says nothing.
_ENDED_FROM_OUTSIDE = {124, 130, 143}


@rule("NCL903", "job-failed", role=Role.SYMPTOM)
def job_failed(jobs: JobResults) -> Iterator[Found | RuledOut]:
    """A job ended with an error status."""
    for job in jobs.jobs:
        if job.exit_status and job.exit_status not in _ENDED_FROM_OUTSIDE:
            yield Found("job", f"ended with status {job.exit_status}", (job.quote,), Confidence.CERTAIN)
            return
