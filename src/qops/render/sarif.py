"""SARIF 2.1.0, which editors and code scanning read: findings with the file and line where that is known.

The form is that of the OASIS standard, https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from qops import __version__
from qops.evidence.text import Quote
from qops.report import Finding, HostReport, JobReport, Suppressed, Verdict
from qops.rule import Severity

LEVELS = {"error": "error", "warning": "warning", "info": "note"}
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@dataclass(frozen=True, slots=True)
class Result:
    """One result. `line` counts from 1, 0 is none; `file` is "" when it is about no file; `level` is SARIF's own."""

    rule: str
    level: str
    message: str
    file: str = ""
    line: int = 0
    text: str = ""  # the line as it stands in the file
    host: str = ""
    about: str = ""  # what the rule is about, in a line
    suppressed: Suppressed | None = None


def log(results: Sequence[Result]) -> str:
    """Return a SARIF log of one run as JSON text, ending with a newline."""
    rules = {result.rule: result.about for result in results}
    driver = {
        "name": "qops",
        "version": __version__,
        "rules": [
            {"id": name, **({"shortDescription": {"text": about}} if about else {})} for name, about in rules.items()
        ],
    }
    order = list(rules)
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, order.index(one.rule)) for one in results],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def report(hosts: Sequence[HostReport], jobs: Sequence[JobReport] = ()) -> str:
    """Return what `qops diagnose` found. A host without a clear answer is a result too: nothing reads as healthy."""
    found: list[Result] = []
    for host in hosts:
        found += [_finding(finding, host.host) for finding in host.findings if finding.severity is not Severity.INFO]
        if host.verdict in (Verdict.UNDETERMINED, Verdict.UNREACHABLE):
            about = "the verdict on a host is not clear"
            found.append(Result(str(host.verdict), "warning", host.reason, host=host.host, about=about))
    for job in jobs:
        found += [
            _finding(one.finding, ", ".join(job.hosts))
            for one in job.findings
            if not one.host and one.finding.severity is not Severity.INFO
        ]
    return log(found)


def _finding(finding: Finding, host: str) -> Result:
    place = next(_files(finding.evidence), None)
    return Result(
        rule=finding.code,
        level=LEVELS[finding.severity],
        message=f"{finding.cause}: {finding.subject + ': ' if finding.subject else ''}{finding.message}",
        file=place.source if place else "",
        line=place.line if place else 0,
        text=place.text if place else "",
        host=host,
        about=finding.cause,
        suppressed=finding.suppressed,
    )


def _files(quotes: Sequence[Quote]) -> Iterator[Quote]:
    """Yield the quotes that stand in a file: what a command printed has blanks in its name, or neither / nor dot."""
    for one in quotes:
        if " " not in one.source and ("/" in one.source or "." in one.source):
            yield one


def _result(one: Result, index: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": one.level,
        "message": {"text": one.message},
    }
    location: dict[str, Any] = {}
    if one.file:
        uri = quote(one.file, safe="/~")
        physical: dict[str, Any] = {"artifactLocation": {"uri": f"file://{uri}" if uri.startswith("/") else uri}}
        if one.line:
            physical["region"] = {
                "startLine": one.line,
                **({"snippet": {"text": one.text}} if one.text else {}),
            }
        location["physicalLocation"] = physical
    if one.host:
        location["logicalLocations"] = [{"name": one.host, "kind": "host"}]
    if location:
        made["locations"] = [location]
    if one.suppressed:
        made["suppressions"] = [
            {
                "kind": "external",
                "status": "rejected" if one.suppressed.expired else "accepted",
                "justification": str(one.suppressed),
            }
        ]
    return made
