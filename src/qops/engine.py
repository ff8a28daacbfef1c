"""The judgement: parse answers to evidence, run the rules, rank what they find, give the verdict."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from qops import probes
from qops.errors import ParseError
from qops.evidence.text import Gap, Gaps, Text
from qops.probes.base import Probe
from qops.report import Coverage, Excluded, Finding, HostReport, Verdict
from qops.rule import Confidence, Evidence, Found, Role, Rule, RuledOut, Severity

_CONFIDENCE = {Confidence.CERTAIN: 0, Confidence.LIKELY: 1, Confidence.POSSIBLE: 2}
_SEVERITY = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
_TELLING = "serve nccl cuda host"  # families by how much a good sign says: it serves, it moves, it is there
_ROLE = {Role.CAUSE: 0, Role.CONTRIBUTING: 1, Role.SYMPTOM: 2, Role.INFO: 3}


def observe(texts: Sequence[Text], gaps: Iterable[Gap] = (), known: Sequence[Probe] = probes.ALL) -> dict[type, Any]:
    """Parse `texts` to evidence: each text goes to the probe that asked, or to all that recognise it.

    Answers that no parser can read become gaps, so that they count as not seen.
    """
    evidence: dict[type, Any] = {}
    unread = list(gaps)
    for probe in known:
        own = [t for t in texts if t.probe == probe.name or (_may_hold(t, probe) and probe.recognise(t))]
        if not own:
            continue
        try:
            value = probe.parse(own)
        except ParseError as error:
            unread.append(Gap(error.source, f"line {error.line}: {error.reason}", "unreadable", probe.name))
            continue
        if value is not None:
            evidence[probe.makes] = value
    evidence[Gaps] = Gaps(tuple(unread))
    return evidence


def _may_hold(text: Text, probe: Probe) -> bool:
    """Return whether `text` can hold anything for `probe`: a reduced one kept only lines with known literals."""
    return not text.numbers or bool(probe.literals)


def judge(host: str, collected: str, evidence: Evidence, rules: Sequence[Rule]) -> HostReport:
    """Run `rules` on `evidence` and rank what they find, the root cause first."""
    findings: list[Finding] = []
    excluded: list[Excluded] = []
    unknown: list[tuple[str, tuple[str, ...]]] = []
    for rule in rules:
        missing = rule.missing(evidence)
        if missing:
            unknown.append((rule.code, tuple(t.__name__ for t in missing)))
            continue
        for outcome in rule.judge(evidence):
            if isinstance(outcome, RuledOut):
                excluded.append(Excluded(rule.code, rule.cause, outcome.because, outcome.evidence))
            else:
                findings.append(_finding(rule, outcome))
    ranked = rank(findings)
    found = {f.cause for f in ranked}
    verdict, reason = _verdict(ranked, evidence)
    return HostReport(
        host=host,
        collected=collected,
        verdict=verdict,
        reason=reason,
        findings=ranked,
        ruled_out=tuple(e for e in excluded if e.cause not in found),
        coverage=_coverage(rules, unknown, evidence),
    )


def _finding(rule: Rule, found: Found) -> Finding:
    return Finding(
        code=rule.code,
        cause=rule.cause,
        family=rule.family,
        role=found.role or rule.role,
        severity=found.severity or rule.severity,
        confidence=found.confidence,
        subject=found.subject,
        message=found.message,
        evidence=found.evidence,
        explains=rule.explains,
        fix=found.fix or rule.fix,
        runbook=rule.runbook,
    )


def rank(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Order `findings`, the root cause first.

    A cause that another cause explains becomes a symptom of it. Among causes, stronger evidence comes first,
    then the one that explains more of what is seen, then the one with more independent sources.
    """
    present = {f.cause for f in findings}
    causes = [f for f in findings if f.role is Role.CAUSE and f.severity is not Severity.INFO]
    explained = {name for f in causes for name in f.explains if name != f.cause and name in present}
    # Two causes that explain each other say nothing: neither is then a consequence.
    for a in causes:
        for b in causes:
            if a.cause in b.explains and b.cause in a.explains:
                explained -= {a.cause, b.cause}
    settled = [
        _as_symptom(f) if f.role is Role.CAUSE and f.cause in explained and f.severity is not Severity.INFO else f
        for f in findings
    ]

    def key(f: Finding) -> tuple[int, int, int, int, int]:
        return (
            _ROLE[f.role] if f.severity is not Severity.INFO else _ROLE[Role.INFO],
            _CONFIDENCE[f.confidence],
            -len(present.intersection(f.explains)),
            _SEVERITY[f.severity],
            -len({q.source for q in f.evidence}),
        )

    return tuple(sorted(settled, key=key))


def _as_symptom(finding: Finding) -> Finding:
    return Finding(**{name: getattr(finding, name) for name in Finding.__slots__ if name != "role"}, role=Role.SYMPTOM)


def _verdict(findings: Sequence[Finding], evidence: Evidence) -> tuple[Verdict, str]:
    serious = [f for f in findings if f.severity is not Severity.INFO]
    causes = [f for f in serious if f.role is Role.CAUSE]
    if causes:
        names = Counter(f.cause for f in causes)
        return Verdict.FAULT, "; ".join(names)
    symptoms = [f for f in serious if f.role is Role.SYMPTOM]
    if symptoms:
        return Verdict.UNDETERMINED, f"{symptoms[0].cause} is seen, and no cause that the evidence supports"
    gaps = [g for g in evidence[Gaps].gaps if _hides_faults(g)]
    if gaps:
        return Verdict.UNDETERMINED, f"{gaps[0].source} could not be read: {gaps[0].reason}"
    signs = sorted((f for f in findings if f.role is Role.INFO), key=lambda f: _TELLING.find(f.family))
    if not signs:
        return Verdict.UNDETERMINED, "nothing that was seen is a fault, and nothing shows that it works"
    return Verdict.HEALTHY, f"{signs[0].subject}: {signs[0].message}"


def _hides_faults(gap: Gap) -> bool:
    """Return whether a host without this answer can be called healthy: never without its GPUs' own."""
    return gap.kind in ("timeout", "unreadable", "cut") or gap.source.split(" ", 1)[0] == "nvidia-smi"


def _coverage(
    rules: Sequence[Rule], unknown: Sequence[tuple[str, tuple[str, ...]]], evidence: Mapping[type, Any]
) -> Coverage:
    kinds = dict.fromkeys(t.__name__ for r in rules for _, t in (*r.needs, *r.wants) if t is not Gaps)
    seen = {t.__name__ for t in evidence}
    return Coverage(
        rules=len(rules),
        judged=len(rules) - len(unknown),
        seen=tuple(k for k in kinds if k in seen),
        not_seen=tuple(k for k in kinds if k not in seen),
        unknown=tuple(unknown),
        gaps=evidence[Gaps].gaps,
    )
