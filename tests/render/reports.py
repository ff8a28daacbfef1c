"""Reports that the tests of the formats render: made by hand, with what a host may say at its worst."""

from qops.evidence.text import Gap, Quote
from qops.report import Coverage, Excluded, Finding, HostReport, Suppressed, Verdict
from qops.rule import Confidence, Fix, Role, Severity

HOSTILE = '</pre><script>alert(1)</script><img src="//evil.example/x"> \u202egnp\u202c \x1b[31m {{7*7}} &amp; | a\nb'


def finding(code: str = "NCL002", **changes: object) -> Finding:
    values: dict[str, object] = {
        "code": code,
        "cause": "rank-stopped",
        "family": "nccl",
        "role": Role.CAUSE,
        "severity": Severity.ERROR,
        "confidence": Confidence.CERTAIN,
        "subject": "rank 1 (pid 42, GPU 1)",
        "message": "its process is stopped",
        "evidence": (Quote("/etc/systemd/system/llm one.service", 7, "x"), Quote("/etc/qops/my.env", 3, "A=<1>")),
        "explains": (),
        "fix": (Fix("let it go on", commands=("kill -CONT 42",)),),
        "runbook": "runbooks/nccl/NCL002-rank-stopped.md",
    }
    return Finding(**(values | changes))  # type: ignore[arg-type]


def host(
    *findings: Finding, name: str = "gpu-01", verdict: Verdict = Verdict.FAULT, reason: str = "rank-stopped"
) -> HostReport:
    gaps = (Gap("nvidia-smi -q", "no answer within 5 s", "timeout"),)
    coverage = Coverage(9, 7, ("Logs",), ("Topology",), (("HST001", ("Gpus",)), ("HST002", ("Gpus",))), gaps)
    ruled_out = (Excluded("NCL001", "rank-missing-from-collective", "all ranks are there", ()),)
    return HostReport(name, "2026-11-30T10:00:00+00:00", verdict, reason, findings, ruled_out, coverage)


SUPPRESSED = Suppressed("the board is on order", "2027-01-31")
ENDED = Suppressed("the board was on order", "2026-01-31", expired=True)
