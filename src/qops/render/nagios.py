"""One line for Nagios, Icinga and their kin, with the figures that they plot, and the exit status that they expect.

The form is that of the Monitoring Plugins' development guidelines: text, a bar, and 'label'=value pairs.
"""

from collections import Counter
from collections.abc import Sequence

from qops.render.clear import clear
from qops.report import HostReport, JobReport, Verdict
from qops.rule import Severity

OK, WARNING, CRITICAL, UNKNOWN = 0, 1, 2, 3
_NAMES = {OK: "OK", WARNING: "WARNING", CRITICAL: "CRITICAL", UNKNOWN: "UNKNOWN"}
SHOWN = 5  # hosts that are named in the line


def status(hosts: Sequence[HostReport], jobs: Sequence[JobReport] = ()) -> int:
    """Return Nagios' status: a fault is critical, what is not known is unknown, a healthy host may have warnings."""
    verdicts = {host.verdict for host in hosts} | {job.verdict for job in jobs}
    if Verdict.FAULT in verdicts:
        return CRITICAL
    if not hosts or verdicts != {Verdict.HEALTHY}:
        return UNKNOWN
    warned = any(f.severity is not Severity.INFO and f.counts for host in hosts for f in host.findings)
    return WARNING if warned else OK


def report(hosts: Sequence[HostReport], jobs: Sequence[JobReport] = ()) -> str:
    """Return the line, ending with a newline."""
    code = status(hosts, jobs)
    told = [f"{host.host}: {host.verdict}: {host.reason}" for host in hosts if host.verdict is not Verdict.HEALTHY]
    told += [f"job of {', '.join(job.hosts)}: {job.reason}" for job in jobs if job.verdict is Verdict.FAULT]
    if not told:
        told = [f"{host.host}: {host.reason}" for host in hosts]
    more = f"; and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    return f"QOPS {_NAMES[code]} - {line('; '.join(told[:SHOWN]) + more or 'no host')} | {_figures(hosts)}\n"


def line(text: str) -> str:
    """Return `text` as one line without the bar, which is where Nagios' figures begin."""
    return " ".join(clear(text).replace("|", "/").split())


def _figures(hosts: Sequence[HostReport]) -> str:
    counts = Counter(str(host.verdict) for host in hosts)
    findings = [f for host in hosts for f in host.findings if f.severity is not Severity.INFO]
    figures = {
        "hosts": len(hosts),
        **{str(verdict): counts[str(verdict)] for verdict in Verdict},
        "findings": sum(f.counts for f in findings),
        "suppressed": sum(not f.counts for f in findings),
    }
    return " ".join(f"{name}={value}" for name, value in figures.items())
