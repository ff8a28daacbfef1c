"""What a diagnosis says: findings, verdict and coverage for each host, and the exit status they mean."""

from enum import StrEnum

from msgspec import Struct

from qops.errors import FAULT, HEALTHY, INCOMPLETE, UNREACHABLE
from qops.evidence.clock import HostClock
from qops.evidence.text import Gap, Quote
from qops.rule import Confidence, Fix, Role, Severity


class Verdict(StrEnum):
    """The answer for one host. `undetermined`: symptoms without a supported cause, or evidence that is missing."""

    FAULT = "fault"
    HEALTHY = "healthy"
    UNDETERMINED = "undetermined"
    UNREACHABLE = "unreachable"


class Suppressed(Struct, frozen=True):
    """Why somebody wants a finding not to count, and the last day on which that holds (ISO 8601)."""

    reason: str
    until: str
    expired: bool = False  # that day is over: the finding counts again

    def __str__(self) -> str:
        said = f"suppression ended on {self.until}" if self.expired else f"suppressed until {self.until}"
        return f"{said}: {self.reason}"


class Finding(Struct, frozen=True):
    """One thing that is so, with its evidence. `suppressed` is set when somebody wants it not to count."""

    code: str
    cause: str
    family: str
    role: Role
    severity: Severity
    confidence: Confidence
    subject: str
    message: str
    evidence: tuple[Quote, ...]
    explains: tuple[str, ...]
    fix: tuple[Fix, ...]
    runbook: str
    suppressed: Suppressed | None = None

    @property
    def counts(self) -> bool:
        """Whether it makes the verdict: it is not suppressed, or no longer."""
        return self.suppressed is None or self.suppressed.expired


class Excluded(Struct, frozen=True):
    """A cause that the evidence speaks against."""

    code: str
    cause: str
    because: str
    evidence: tuple[Quote, ...]


class Coverage(Struct, frozen=True):
    """What was looked at and what was not. `unknown` maps a rule's code to the evidence that it lacked."""

    rules: int
    judged: int
    seen: tuple[str, ...]  # kinds of evidence
    not_seen: tuple[str, ...]
    unknown: tuple[tuple[str, tuple[str, ...]], ...]
    gaps: tuple[Gap, ...]


class HostReport(Struct, frozen=True):
    """The judgement of one host. `collected` is ISO 8601 in UTC, or "" when the evidence does not say."""

    host: str
    collected: str
    verdict: Verdict
    reason: str
    findings: tuple[Finding, ...]
    ruled_out: tuple[Excluded, ...]
    coverage: Coverage
    clock: HostClock | None = None  # beside the clock of the machine that asked, where that was measured

    @property
    def root(self) -> Finding | None:
        """The root cause, when there is one."""
        return next(iter(self.findings), None) if self.verdict is Verdict.FAULT else None


class JobFinding(Struct, frozen=True):
    """A finding of a host of a job, or, when `host` is "", one that only all hosts together show."""

    host: str
    finding: Finding


class Broke(Struct, frozen=True):
    """The host of a job whose first error came before that of the next host by more than the clocks are known to.

    `before` and `within` are in seconds.
    """

    host: str
    before: float
    next_host: str
    within: float
    quote: Quote

    def __str__(self) -> str:
        return f"{self.host}, {self.before:.2f} s before {self.next_host} (clocks known to {self.within:.2f} s)"


class JobReport(Struct, frozen=True):
    """The judgement of a job that spans `hosts`: one root cause, first among `findings`. `tie`: why it is one job."""

    hosts: tuple[str, ...]
    tie: str
    verdict: Verdict
    reason: str
    findings: tuple[JobFinding, ...]
    broke: Broke | None = None  # where it broke first, when that can be told


def exit_status(hosts: tuple[HostReport, ...], jobs: tuple[JobReport, ...] = ()) -> int:
    """Return the exit status for `hosts`: a fault wins over unreachable, which wins over undetermined."""
    verdicts = {host.verdict for host in hosts} | {job.verdict for job in jobs}
    if Verdict.FAULT in verdicts:
        return FAULT
    if Verdict.UNREACHABLE in verdicts:
        return UNREACHABLE
    if Verdict.UNDETERMINED in verdicts or not hosts:
        return INCOMPLETE
    return HEALTHY
