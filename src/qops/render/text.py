"""A report for people: the root cause first, everything else below it, the verdict in the last line."""

from collections.abc import Iterator, Sequence

from qops.evidence.text import Quote
from qops.render.screen import Line
from qops.report import Finding, HostReport, JobReport, Verdict
from qops.rule import Role, Severity

APART = 1.0  # seconds between a host's clock and the one here from which it is shown, since logs then mislead
SHOWN = 4  # lines of evidence shown of one finding, unless --verbose
_STYLE = {Verdict.FAULT: "bold red", Verdict.HEALTHY: "bold green"}


def report(
    hosts: Sequence[HostReport], jobs: Sequence[JobReport] = (), *, verbose: bool = False, quiet: bool = False
) -> list[Line]:
    """Return the lines of a report on `hosts`, and on `jobs` of several; `quiet` leaves only findings and verdicts."""
    lines = [line for job in jobs for line in _job(job, verbose=verbose)]
    for host in hosts:
        block = list(_host(host, verbose=verbose, quiet=quiet))
        if len(hosts) > 1 and block:
            lines.append([(f"── {host.host}", "bold")])
        lines += block
    lines += [recap(host) for host in hosts]
    for job in jobs:
        lines.append(_verdict(f"job of {', '.join(job.hosts)}", job.verdict, job.reason))
    return lines


def _job(job: JobReport, *, verbose: bool) -> Iterator[Line]:
    """Return what is said of a job: its root cause, and where that is. The rest stands with the hosts."""
    yield [(f"── one job on {', '.join(job.hosts)}", "bold"), (f"   {job.tie}", "dim")]
    if job.verdict is not Verdict.FAULT:
        yield [(f"{job.verdict}", "bold")]
    else:
        first = job.findings[0]
        yield from _full(first.finding, f"root cause, on {first.host or 'all of them'}", verbose=verbose)
    if job.broke:
        yield [("broke first  ", "bold"), (str(job.broke), "")]
        yield [("  seen       ", "green"), (str(job.broke.quote), "dim")]
    yield [("", "")]


def recap(host: HostReport) -> Line:
    """Return the one line that says how a host came out."""
    return _verdict(host.host, host.verdict, host.reason)


def _verdict(name: str, verdict: Verdict, reason: str) -> Line:
    style = _STYLE.get(verdict, "bold yellow")
    return [(f"{name}: ", ""), (str(verdict), style), (f": {reason}" if reason else "", "")]


def _host(host: HostReport, *, verbose: bool, quiet: bool) -> Iterator[Line]:
    causes = [f for f in host.findings if f.role is Role.CAUSE and f.severity is not Severity.INFO and f.counts]
    for position, finding in enumerate(causes):
        yield from _full(finding, "root cause" if position == 0 else "also a cause", verbose=verbose)
    for finding in host.findings:
        if finding in causes:
            continue
        if not finding.counts:  # never silently left out, not even by --quiet
            yield from _short(finding, "suppressed", verbose=verbose)
            continue
        if finding.severity is Severity.INFO:
            # What merely looks like a fault of the host is for those who wonder about it.
            if not quiet and (verbose or finding.family != "host" or not finding.cause.startswith("benign-")):
                yield from _short(finding, "note", verbose=verbose)
        elif finding.role is Role.SYMPTOM:
            yield from _short(finding, "consequence" if causes else "symptom", verbose=verbose or not causes)
        else:
            yield from _full(finding, str(finding.severity), verbose=verbose)
    if quiet:
        return
    if host.ruled_out:
        yield from _block("ruled out", [f"{e.cause}: {e.because}" for e in host.ruled_out])
    coverage = host.coverage
    for gap in coverage.gaps if verbose else [g for g in coverage.gaps if g.kind in ("timeout", "unreadable")]:
        yield [("not read     ", "yellow"), (f"{gap.source}: {gap.reason}", "")]
    if coverage.not_seen and (verbose or host.verdict is not Verdict.HEALTHY):
        yield [("not seen     ", "dim"), (", ".join(coverage.not_seen), "dim")]
    if host.clock and (verbose or abs(host.clock.ahead) - host.clock.within > APART):
        side = "ahead of" if host.clock.ahead >= 0 else "behind"
        yield [
            ("clock        ", "dim"),
            (f"{abs(host.clock.ahead):.3f} s {side} this machine's, give or take {host.clock.within:.3f} s", "dim"),
        ]
    if verbose:
        yield [("seen         ", "dim"), (", ".join(coverage.seen), "dim")]
    yield [
        ("coverage     ", "dim"),
        (f"{coverage.judged} of {coverage.rules} rules had the evidence they need", "dim"),
    ]
    yield [("", "")]


def _full(finding: Finding, title: str, *, verbose: bool) -> Iterator[Line]:
    style = "bold red" if finding.severity is Severity.ERROR else "bold yellow"
    yield [(title, style), (f"   {finding.code} {finding.cause}", "bold"), (f"   {finding.confidence}", "dim")]
    yield [(f"  {finding.subject}: " if finding.subject else "  ", ""), (finding.message, "")]
    if finding.suppressed:
        yield [("  ", ""), (str(finding.suppressed), "yellow")]
    yield from _evidence(finding.evidence, verbose=verbose)
    for fix in finding.fix:
        yield [(f"  {fix.kind:<10} ", "green"), (fix.text, "")]
        for command in fix.commands:
            yield [("             ", ""), (command, "cyan")]
        if fix.needs_reboot:
            yield [("             ", ""), ("needs a reboot", "yellow")]
    yield [("  more       ", "green"), (f"qops explain {finding.code}", "cyan")]
    yield [("", "")]


def _short(finding: Finding, title: str, *, verbose: bool) -> Iterator[Line]:
    subject = f"{finding.subject}: " if finding.subject else ""
    yield [(f"{title:<13}", "dim"), (f"{finding.cause}: {subject}{finding.message}", "")]
    if finding.suppressed:
        yield [("             ", ""), (str(finding.suppressed), "yellow")]
    if verbose:
        yield from _evidence(finding.evidence, verbose=True)


def _evidence(quotes: Sequence[Quote], *, verbose: bool) -> Iterator[Line]:
    shown = quotes if verbose else quotes[:SHOWN]
    for position, quote in enumerate(shown):
        yield [("  seen       " if position == 0 else "             ", "green"), (str(quote), "dim")]
    if len(shown) < len(quotes):
        yield [("             ", ""), (f"and {len(quotes) - len(shown)} more lines", "dim")]


def _block(title: str, items: Sequence[str]) -> Iterator[Line]:
    for position, item in enumerate(items):
        yield [(f"{title if position == 0 else '':<13}", "dim"), (item, "dim")]
