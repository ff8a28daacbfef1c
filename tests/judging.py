"""How tests put a question to the product: pasted text in, the judgement out."""

from collections.abc import Mapping

from qops.engine import judge, observe
from qops.evidence.text import Text
from qops.report import HostReport
from qops.rule import Found, Role, Rule, RuledOut
from qops.rules import LISTED
from qops.transports.base import lines


def text(content: str, source: str = "job.log") -> Text:
    """Make a loose text of `content`."""
    return Text(source, lines(content.encode()))


def diagnose(files: Mapping[str, str]) -> HostReport:
    """Judge loose files (name to content) with every probe and every rule, as `diagnose --from` does."""
    return judge("host", "", observe([text(content, name) for name, content in files.items()]), LISTED)


def causes(files: Mapping[str, str]) -> list[str]:
    """Return the causes found in loose files, the root first."""
    return [f.cause for f in diagnose(files).findings if f.role is Role.CAUSE and f.severity != "info"]


def outcomes(rule: Rule, files: Mapping[str, str]) -> tuple[Found | RuledOut, ...] | None:
    """Run one rule on loose files; None when evidence that it needs is missing."""
    evidence = observe([text(content, name) for name, content in files.items()])
    return None if rule.missing(evidence) else rule.judge(evidence)


def judged(rule: Rule, *values: object) -> tuple[Found | RuledOut, ...] | None:
    """Run one rule on evidence values; None when evidence that it needs is missing."""
    evidence = {type(value): value for value in values}
    return None if rule.missing(evidence) else rule.judge(evidence)


def found(rule: Rule, *values: object) -> list[Found]:
    """Return only what the rule accuses."""
    return [o for o in judged(rule, *values) or () if isinstance(o, Found)]
