"""Hosts that run one job together: which they are, and the one cause of what all of them show."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from qops.derive.first_error import Moment, first_error
from qops.derive.picture import Picture, picture
from qops.engine import judge, rank
from qops.evidence.clock import HostClock
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.process import Environment, Processes
from qops.evidence.text import Gaps
from qops.pattern import lazy
from qops.report import Broke, Finding, HostReport, JobFinding, JobReport, Verdict
from qops.rule import Evidence, Role, Severity
from qops.rules.listing import Listed

# The causes that show only in the logs of several hosts: mismatched calls, order and settings, and who is missing.
SPANNING = ("NCL001", "NCL004", "NCL005", "NCL006")
ONE_EVENT = 3600.0  # seconds; errors further apart are of different runs: the longest usual watchdog waits half an hour
_WORSE = (Verdict.HEALTHY, Verdict.UNDETERMINED, Verdict.UNREACHABLE, Verdict.FAULT)
# How vLLM, SGLang and torchrun are told where the first node is.
_RENDEZVOUS = lazy(
    r"--(?:master[-_]addr|dist-init-addr|rdzv[-_]endpoint)[= ](?P<address>[\w.\-\[\]:]+)"
    r"|--nnodes[= ](?P<nodes>\d+)"
)


class Judged(Struct, frozen=True):
    """A host's report, with what of its evidence ties it to a job or can be drawn: small, whatever its logs were."""

    report: HostReport
    ties: frozenset[str] = frozenset()
    nccl: NcclLog | None = None
    ras: Ras | None = None
    picture: Picture = field(default_factory=Picture)
    first: Moment | None = None  # the first error that its findings quote


def judged(report: HostReport, evidence: Evidence, clock: HostClock | None = None) -> Judged:
    """Return `report` with what ties its host to others, what can be drawn of it, and its `clock`, where measured."""
    quotes = [q for f in report.findings if f.severity is not Severity.INFO and f.counts for q in f.evidence]
    return Judged(
        replace(report, clock=clock),
        frozenset(_ties(evidence)),
        evidence.get(NcclLog),
        evidence.get(Ras),
        picture(evidence),
        first_error(quotes, clock),
    )


def joined(hosts: Sequence[Judged], rules: Sequence[Listed]) -> tuple[tuple[HostReport, ...], tuple[JobReport, ...]]:
    """Return the hosts' reports, and one for each job that spans some of them.

    What a cause on one host of a job explains on another is no cause there.
    """
    reports = {number: host.report for number, host in enumerate(hosts)}
    jobs: list[JobReport] = []
    for numbers, tie in _groups(hosts):
        job, changed = _job([hosts[number] for number in numbers], tie, rules)
        jobs.append(job)
        reports |= dict(zip(numbers, changed, strict=True))
    return tuple(reports[number] for number in range(len(hosts))), tuple(jobs)


def _ties(evidence: Mapping[type, Any]) -> Iterator[str]:
    """Yield what only the hosts of one job have in common."""
    nccl: NcclLog | None = evidence.get(NcclLog)
    ras: Ras | None = evidence.get(Ras)
    for communicator, size in (
        *((one.communicator, one.size) for one in (nccl.ranks if nccl else ())),
        *((one.id, one.size) for answer in (ras.answers if ras else ()) for one in answer.communicators),
    ):
        if size is None or size > 1:
            yield f"communicator {communicator}"
    processes: Processes | None = evidence.get(Processes)
    for command in {process.command for process in (processes.samples if processes else ()) if process.command}:
        said = list(_RENDEZVOUS.finditer(command))
        if any(int(found["nodes"] or 0) > 1 for found in said):
            yield from (f"first node {found['address']}" for found in said if _elsewhere(found["address"] or ""))
    environment: Environment | None = evidence.get(Environment)
    for variable in environment.get("MASTER_ADDR") if environment else ():
        ports = {v.value for v in environment.get("MASTER_PORT") if v.owner == variable.owner} if environment else set()
        if _elsewhere(variable.value):
            yield from (f"first node {variable.value}:{port}" for port in ports)


def _elsewhere(address: str) -> bool:
    """Return whether another host can mean the same machine by `address`."""
    host = address.strip("[]") if address.count(":") > 1 else address.split(":", 1)[0]
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host not in ("", "localhost")


def _groups(hosts: Sequence[Judged]) -> list[tuple[tuple[int, ...], str]]:
    """Return the hosts of each job by their places in `hosts`, and one thing that ties them."""
    groups: list[tuple[set[int], set[str]]] = []
    for number, host in enumerate(hosts):
        if not host.ties:
            continue
        together = [group for group in groups if group[1] & host.ties]
        groups = [group for group in groups if group not in together]
        groups.append(
            ({number}.union(*(group[0] for group in together)), set(host.ties).union(*(group[1] for group in together)))
        )
    found = [(tuple(sorted(numbers)), numbers) for numbers, _ in groups if len(numbers) > 1]
    return sorted((order, _shared([hosts[number] for number in order])) for order, _ in found)


def _shared(hosts: Sequence[Judged]) -> str:
    """Return the tie that most of `hosts` have."""
    ties = sorted({tie for host in hosts for tie in host.ties})
    return max(ties, key=lambda tie: sum(tie in host.ties for host in hosts))


def _job(hosts: Sequence[Judged], tie: str, rules: Sequence[Listed]) -> tuple[JobReport, list[HostReport]]:
    names = tuple(host.report.host for host in hosts)
    owned = [(finding, host.report.host) for host in hosts for finding in host.report.findings]
    seen = {finding.cause for finding, _ in owned}
    owned += [(finding, "") for finding in _together(hosts, rules) if finding.cause not in seen]
    owners: dict[tuple[object, ...], list[str]] = {}
    for finding, host in owned:
        owners.setdefault(_said(finding), []).append(host)
    # Ranking changes the role of some, so that each is found again by what it says.
    findings = tuple(JobFinding(owners[_said(f)].pop(0), f) for f in rank([finding for finding, _ in owned]))
    broke = _broke(hosts)
    if broke:
        findings = _first(findings, broke.host)
    causes = [one for one in findings if _is_cause(one.finding)]
    changed = [_settled(host.report, causes) for host in hosts]
    if not causes:
        worst = max((report.verdict for report in changed), key=_WORSE.index)
        return JobReport(names, tie, worst, "", findings, broke), changed
    first = causes[0]
    reason = f"{first.finding.cause} on {first.host}" if first.host else first.finding.cause
    return JobReport(names, tie, Verdict.FAULT, reason, findings, broke), changed


def _broke(hosts: Sequence[Judged]) -> Broke | None:
    """Return the host whose first error came first, by more than what the clocks and the times leave open."""
    told = sorted(((host.first, host.report.host) for host in hosts if host.first), key=lambda one: one[0].at)
    if len(told) < 2:
        return None
    (first, name), (second, other) = told[:2]
    before, within = second.at - first.at, first.within + second.within
    # Every other host has to be later, also one whose time is known less well than the second's.
    if before > ONE_EVENT or any(one.at - first.at <= first.within + one.within for one, _ in told[1:]):
        return None
    return Broke(name, before, other, within, first.quote)


def _first(findings: Sequence[JobFinding], host: str) -> tuple[JobFinding, ...]:
    """Put the causes on `host` before those that are no stronger: what comes later somewhere else may come from it."""
    top = next((one for one in findings if _is_cause(one.finding)), None)
    own = [
        one
        for one in findings
        if top and one.host == host and _is_cause(one.finding) and one.finding.confidence is top.finding.confidence
    ]
    return (*own, *(one for one in findings if one not in own))


def _said(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.subject, finding.message, finding.evidence


def _is_cause(finding: Finding) -> bool:
    return finding.role is Role.CAUSE and finding.severity is not Severity.INFO and finding.counts


def _together(hosts: Sequence[Judged], rules: Sequence[Listed]) -> tuple[Finding, ...]:
    """Return what NCCL's logs on all hosts show only together, and what RAS says of all ranks wherever it is asked."""
    logs = [host.nccl for host in hosts if host.nccl]
    answers = [host.ras for host in hosts if host.ras]
    evidence: dict[type, Any] = {Gaps: Gaps(), Logs: Logs()}
    if logs:
        evidence[NcclLog] = NcclLog(
            versions=tuple(dict.fromkeys(version for log in logs for version in log.versions)),
            ranks=tuple(one for log in logs for one in log.ranks),
            settings=tuple(one for log in logs for one in log.settings),
            calls=tuple(one for log in logs for one in log.calls),
        )
    if answers:
        evidence[Ras] = max(answers, key=lambda ras: sum(answer.answered for answer in ras.answers))
    return judge("", "", evidence, [rule for rule in rules if rule.code in SPANNING]).findings


def _settled(report: HostReport, causes: Sequence[JobFinding]) -> HostReport:
    """Return the host's report after what a cause on another host explains has become a consequence of it."""
    left = {_said(one.finding) for one in causes if one.host == report.host}
    lost = [finding for finding in report.findings if _is_cause(finding) and _said(finding) not in left]
    if not lost:
        return report
    findings = rank([replace(f, role=Role.SYMPTOM) if f in lost else f for f in report.findings])
    if own := [finding.cause for finding in findings if _is_cause(finding)]:
        return replace(report, findings=findings, reason="; ".join(dict.fromkeys(own)))
    by = next(one for one in causes if any(f.cause in one.finding.explains for f in lost))
    why = f"what it shows comes from {by.finding.cause} on {by.host or 'all hosts of the job together'}"
    return replace(report, findings=findings, verdict=Verdict.UNDETERMINED, reason=why)
