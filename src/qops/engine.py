"""The judgement: parse answers to evidence, run the rules, rank what they find, give the verdict."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from qops import probes
from qops.errors import ParseError
from qops.evidence.checkpoint import Checkpoint
from qops.evidence.image import Candidate
from qops.evidence.text import Gap, Gaps, Text
from qops.probes import payloads
from qops.probes.base import Probe
from qops.report import Coverage, Excluded, Finding, HostReport, Verdict
from qops.rule import Confidence, Evidence, Found, Role, Rule, RuledOut, Severity, Untold
from qops.rules.listing import Listed, said

_CONFIDENCE = {Confidence.CERTAIN: 0, Confidence.LIKELY: 1, Confidence.POSSIBLE: 2}
_SEVERITY = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
# What a person names: without it, rules about it are no gap of a diagnosis.
NAMED = frozenset((Candidate.__name__, Checkpoint.__name__))
_TELLING = "serve nccl cuda host"  # families by how much a good sign says: it serves, it moves, it is there
_ROLE = {Role.CAUSE: 0, Role.CONTRIBUTING: 1, Role.SYMPTOM: 2, Role.INFO: 3}


def observe(texts: Sequence[Text], gaps: Iterable[Gap] = (), known: Sequence[Probe] = probes.ALL) -> dict[type, Any]:
    """Parse `texts` to evidence: each text goes to the probe that asked, and to all that recognise it.

    Answers that no parser can read become gaps, so that they count as not seen.
    """
    evidence: dict[type, Any] = {}
    texts = [payloads.without(text) for text in texts]
    unread = list(gaps)
    asked = {probe.name for probe in known}
    # Of a large text only lines with literals were kept, and an answer is of use to who asked and few others.
    called = [probes.called(text) if text.numbers or text.probe in asked else None for text in texts]
    for probe in known:
        own = [
            text
            for text, names in zip(texts, called, strict=True)
            if text.probe == probe.name or (_may_read(probe, text, names) and probe.recognise(text))
        ]
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


def _may_read(probe: Probe, text: Text, called: Collection[str] | None) -> bool:
    return called is None or probe.every or probe.name in called or text.probe in probe.shares


def judge(host: str, collected: str, evidence: Evidence, rules: Sequence[Listed | Rule]) -> HostReport:
    """Run `rules` on `evidence` and rank what they find, the root cause first.

    A rule that nothing in the evidence concerns is judged, too: it finds nothing, and is not imported for that.
    """
    findings: list[Finding] = []
    excluded: list[Excluded] = []
    unknown: list[tuple[str, tuple[str, ...]]] = []
    seen = {kind.__name__ for kind in evidence}
    words = said(evidence)
    known: list[Listed] = []
    for one in (one if isinstance(one, Listed) else Listed.of(one) for one in rules):
        missing = one.missing(seen)
        if not NAMED.isdisjoint(missing):
            continue
        known.append(one)
        if missing:
            unknown.append((one.code, missing))
            continue
        if not one.concerned(evidence, seen, words):
            continue
        rule = one.rule
        for outcome in rule.judge(evidence):
            if isinstance(outcome, Untold):
                unknown.append((rule.code, (outcome.lacking,)))
            elif isinstance(outcome, RuledOut):
                excluded.append(Excluded(rule.code, rule.cause, outcome.because, outcome.evidence))
            else:
                findings.append(_finding(rule, outcome))
    ranked = rank(findings)
    found = {f.cause for f in ranked}
    answer, reason = verdict(ranked, evidence[Gaps].gaps)
    return HostReport(
        host=host,
        collected=collected,
        verdict=answer,
        reason=reason,
        findings=ranked,
        ruled_out=tuple(e for e in excluded if e.cause not in found),
        coverage=_coverage(known, unknown, evidence),
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
        replace(f, role=Role.SYMPTOM)
        if f.role is Role.CAUSE and f.cause in explained and f.severity is not Severity.INFO
        else f
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


def verdict(findings: Sequence[Finding], unanswered: Sequence[Gap]) -> tuple[Verdict, str]:
    """Return the verdict on a host that `findings`, ranked, and questions without an answer make, and why."""
    serious = [f for f in findings if f.severity is not Severity.INFO]
    causes = [f for f in serious if f.role is Role.CAUSE]
    if causes:
        names = Counter(f.cause for f in causes)
        return Verdict.FAULT, "; ".join(names)
    symptoms = [f for f in serious if f.role is Role.SYMPTOM]
    if symptoms:
        return Verdict.UNDETERMINED, f"{symptoms[0].cause} is seen, and no cause that the evidence supports"
    gaps = [g for g in unanswered if _hides_faults(g)]
    if gaps:
        return Verdict.UNDETERMINED, f"{gaps[0].source} could not be read: {gaps[0].reason}"
    # Within a family, what looks like a fault and is none says less than what works.
    signs = sorted(
        (f for f in findings if f.role is Role.INFO),
        key=lambda f: (_TELLING.find(f.family), f.cause.startswith("benign-")),
    )
    if not signs:
        return Verdict.UNDETERMINED, "nothing that was seen is a fault, and nothing shows that it works"
    return Verdict.HEALTHY, f"{signs[0].subject}: {signs[0].message}"


def _hides_faults(gap: Gap) -> bool:
    """Return whether a host without this answer can be called healthy: never without its GPUs' own."""
    return gap.kind in ("timeout", "unreadable", "cut") or gap.source.split(" ", 1)[0] == "nvidia-smi"


def _coverage(
    rules: Sequence[Listed], unknown: Sequence[tuple[str, tuple[str, ...]]], evidence: Mapping[type, Any]
) -> Coverage:
    kinds = dict.fromkeys(kind for one in rules for kind in (*one.needs, *one.wants) if kind != Gaps.__name__)
    seen = {t.__name__ for t in evidence}
    return Coverage(
        rules=len(rules),
        judged=len(rules) - len(unknown),
        seen=tuple(k for k in kinds if k in seen),
        not_seen=tuple(k for k in kinds if k not in seen),
        unknown=tuple(unknown),
        gaps=evidence[Gaps].gaps,
    )
