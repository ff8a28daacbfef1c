"""The JSON documents that qops prints. Additive within a schema number; docs/report.schema.json publishes it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from qops import __version__
from qops.report import HostReport, JobReport, exit_status
from qops.rule import Rule

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Summary:
    """How many hosts came out how, and the exit status that it means."""

    hosts: int
    fault: int
    healthy: int
    undetermined: int
    unreachable: int
    exit_status: int


@dataclass(frozen=True, slots=True)
class Document:
    """What `qops diagnose --format json` prints. Findings stand root cause first; `jobs` are those of several hosts."""

    schema: int
    qops: str
    hosts: tuple[HostReport, ...]
    summary: Summary
    jobs: tuple[JobReport, ...] = ()


def document(hosts: Sequence[HostReport], jobs: Sequence[JobReport] = ()) -> Document:
    """Make the document for `hosts`, and for the jobs that span some of them."""
    count = Counter(str(h.verdict) for h in hosts)
    return Document(
        schema=SCHEMA,
        qops=__version__,
        hosts=tuple(hosts),
        summary=Summary(
            hosts=len(hosts),
            fault=count["fault"],
            healthy=count["healthy"],
            undetermined=count["undetermined"],
            unreachable=count["unreachable"],
            exit_status=exit_status(tuple(hosts), tuple(jobs)),
        ),
        jobs=tuple(jobs),
    )


def report(hosts: Sequence[HostReport], jobs: Sequence[JobReport] = ()) -> str:
    """Return the report as JSON text, ending with a newline."""
    return _text(document(hosts, jobs))


def rules(known: Sequence[Rule]) -> str:
    """Return the list of rules as JSON text, ending with a newline."""
    rows = [
        {
            "code": r.code,
            "cause": r.cause,
            "family": r.family,
            "severity": r.severity,
            "role": r.role,
            "summary": r.summary,
            "needs": [t.__name__ for _, t in r.needs],
            "can_use": [t.__name__ for _, t in r.wants],
            "explains": r.explains,
            "runbook": r.runbook,
        }
        for r in known
    ]
    return _text({"schema": SCHEMA, "rules": rows})


def schema() -> str:
    """Return the JSON Schema of a report."""
    return _text(msgspec.json.schema(Document))


def _text(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
