"""The text format of Prometheus, for node_exporter's textfile collector.

Names of hosts, codes and causes are labels; what changes from look to look (a pid, a message) never is one.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from qops import __version__
from qops.report import HostReport, JobReport, Verdict

Samples = Sequence[tuple[Mapping[str, str], float]]
_ESCAPES = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"}


def report(hosts: Sequence[HostReport], jobs: Sequence[JobReport] = ()) -> str:
    """Return the report as metrics, all of them gauges."""
    return "".join(
        (
            metric("qops_info", "The release of qops that judged.", [({"version": __version__}, 1)]),
            metric(
                "qops_verdict",
                "1 for the verdict that a host has, 0 for those that it has not.",
                [
                    ({"host": host.host, "verdict": str(verdict)}, float(host.verdict is verdict))
                    for host in hosts
                    for verdict in Verdict
                ],
            ),
            metric(
                "qops_job_verdict",
                "1 for the verdict that a job of several hosts has, 0 for those that it has not.",
                [
                    ({"hosts": ",".join(job.hosts), "verdict": str(verdict)}, float(job.verdict is verdict))
                    for job in jobs
                    for verdict in Verdict
                ],
            ),
            metric("qops_findings", "Findings by what they are.", list(_findings(hosts))),
            metric("qops_rules", "Rules that were to judge a host.", _each(hosts, lambda host: host.coverage.rules)),
            metric(
                "qops_rules_judged",
                "Rules that had the evidence they need.",
                _each(hosts, lambda host: host.coverage.judged),
            ),
            metric("qops_gaps", "Questions without an answer.", _each(hosts, lambda host: len(host.coverage.gaps))),
            metric(
                "qops_collected_timestamp_seconds",
                "When the evidence was collected, in seconds since 1970.",
                [({"host": host.host}, at) for host in hosts if (at := _seconds(host.collected)) is not None],
            ),
        )
    )


def metric(name: str, help_: str, samples: Samples) -> str:
    """Return one gauge with its HELP and TYPE lines; "" when it has no samples."""
    if not samples:
        return ""
    lines = [f"# HELP {name} {help_}", f"# TYPE {name} gauge"]
    for labels, value in samples:
        told = ",".join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in labels.items())
        lines.append(f"{name}{{{told}}} {value:.15g}" if told else f"{name} {value:.15g}")
    return "\n".join(lines) + "\n"


def _findings(hosts: Sequence[HostReport]) -> Iterator[tuple[dict[str, str], float]]:
    for host in hosts:
        same = Counter(
            (f.code, f.cause, str(f.role), str(f.severity), "no" if f.counts else "yes") for f in host.findings
        )
        for (code, cause, role, severity, suppressed), count in same.items():
            labels = {"host": host.host, "code": code, "cause": cause, "role": role, "severity": severity}
            yield labels | {"suppressed": suppressed}, float(count)


def _each(hosts: Sequence[HostReport], value: Callable[[HostReport], float]) -> Samples:
    return [({"host": host.host}, value(host)) for host in hosts]


def _seconds(collected: str) -> float | None:
    """Return a time in ISO 8601 as seconds since 1970; None for what is none: a bundle may say anything."""
    try:
        at = datetime.fromisoformat(collected)
    except ValueError:
        return None
    return at.timestamp() if at.tzinfo else None
