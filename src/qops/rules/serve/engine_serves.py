"""SRV802: tokens come: the engine serves."""

from collections.abc import Iterator

from qops.derive.serving import serving
from qops.evidence.engine import EngineMetrics
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("SRV802", "engine-serves", role=Role.INFO, severity=Severity.INFO)
def engine_serves(metrics: EngineMetrics) -> Iterator[Found | RuledOut]:
    """Tokens come: the engine serves."""
    for s in serving(metrics):
        if s.tokens > 0:
            yield Found(
                subject=f"engine on port {s.port}" if s.port else "engine",
                message=f"serves: {s.tokens:.0f} tokens in {s.seconds:.0f} s, {s.waiting:.0f} requests wait",
                evidence=s.quotes,
                confidence=Confidence.CERTAIN,
            )
