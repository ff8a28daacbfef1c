"""Suppressions: findings that somebody knows and wants not to count, each with a reason and a last day.

They stand in an inventory as `qops_suppress`, or in a file for `--suppress`. A suppressed finding is still shown, with
its reason; only the verdict, and with it the exit status, leaves it out. After its last day it counts again.
"""

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from qops.engine import verdict
from qops.errors import UsageError
from qops.report import Finding, HostReport, Suppressed, Verdict
from qops.rule import Severity
from qops.rules import LISTED

VARIABLE = "qops_suppress"
HINT = "an entry is {code: HST009, subject: 'GPU 3*', reason: the board is on order, until: 2027-01-31}"
_KEYS = ("code", "cause", "subject", "reason", "until")


class Suppression(Struct, frozen=True):
    """One entry: the finding's code or cause (or both), a pattern for its subject, why, and the last day."""

    reason: str
    until: date
    code: str = ""
    cause: str = ""
    subject: str = "*"  # as a shell's pattern

    def covers(self, finding: Finding) -> bool:
        """Return whether it is about `finding`, its last day aside. Notes never count, and need no suppression."""
        return (
            finding.severity is not Severity.INFO
            and self.code in ("", finding.code)
            and self.cause in ("", finding.cause)
            and fnmatch.fnmatchcase(finding.subject, self.subject)
        )


def mistakes(entries: Any) -> Iterator[tuple[int, str]]:
    """Yield (place in the list from 0, what is wrong) for each mistake in `entries`, as YAML gives them."""
    if not isinstance(entries, list):
        yield 0, f"{VARIABLE} is a list of entries, and this is none"
        return
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict):
            yield place, "an entry is a mapping, and this is none"
            continue
        for message in _wrong(entry):
            yield place, message


def read(entries: Any, where: str) -> tuple[Suppression, ...]:
    """Return the suppressions of `entries`, which stand at `where`. UsageError for the first mistake."""
    for place, message in mistakes(entries):
        raise UsageError(f"{where}: entry {place + 1}: {message}", HINT)
    return tuple(
        Suppression(
            reason=" ".join(str(entry["reason"]).split()),
            until=_day(entry["until"]) or date.min,
            code=str(entry.get("code", "")),
            cause=str(entry.get("cause", "")),
            subject=str(entry.get("subject", "*")),
        )
        for entry in entries
    )


def apply(report: HostReport, suppressions: Sequence[Suppression], today: date) -> HostReport:
    """Return `report` with what `suppressions` cover marked, and the verdict of what is left on the day `today`."""
    findings = tuple(_marked(finding, suppressions, today) for finding in report.findings)
    quiet = [finding for finding in findings if not finding.counts]
    if findings == report.findings:
        return report
    report = replace(report, findings=(*(f for f in findings if f.counts), *quiet))
    if not quiet or report.verdict in (Verdict.HEALTHY, Verdict.UNREACHABLE):
        return report
    gaps = report.coverage.gaps
    if (report.verdict, report.reason) != verdict(findings, gaps):
        return report  # somebody knows of another reason, such as a lost connection
    left, reason = verdict([finding for finding in findings if finding.counts], gaps)
    return replace(report, verdict=left, reason=f"{reason} ({len(quiet)} suppressed)")


def _marked(finding: Finding, suppressions: Sequence[Suppression], today: date) -> Finding:
    mine = max((one for one in suppressions if one.covers(finding)), key=lambda one: one.until, default=None)
    if mine is None:
        return finding
    return replace(finding, suppressed=Suppressed(mine.reason, mine.until.isoformat(), expired=mine.until < today))


def _wrong(entry: Mapping[Any, Any]) -> Iterator[str]:
    if strange := [str(key) for key in entry if key not in _KEYS]:
        yield f"{strange[0]} means nothing here; an entry has {', '.join(_KEYS)}"
    if nested := [str(key) for key, value in entry.items() if isinstance(value, (list, dict))]:
        yield f"{nested[0]} must be text"
        return
    code, cause = entry.get("code"), entry.get("cause")
    if not code and not cause:
        yield "it names neither a code nor a cause"
    elif not any(code in (None, "", rule.code) and cause in (None, "", rule.cause) for rule in LISTED):
        yield f"no rule is called {' '.join(str(name) for name in (code, cause) if name)}; `qops rules` lists them"
    if "subject" in entry and not (isinstance(entry["subject"], str) and entry["subject"]):
        yield "subject must be text"
    if not isinstance(entry.get("reason"), str) or not entry["reason"].strip():
        yield "it has no reason"
    if "until" not in entry:
        yield "it has no last day: until"
    elif _day(entry["until"]) is None:
        yield f"until must be a day such as 2027-01-31, not {str(entry['until'])[:40]!r}"


def _day(value: Any) -> date | None:
    """Return a day, as YAML makes it of 2027-01-31, or as text; None for anything else."""
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    try:
        return date.fromisoformat(value) if isinstance(value, str) and len(value) == 10 else None
    except ValueError:
        return None
