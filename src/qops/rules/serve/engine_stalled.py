"""SRV904: requests run and no token comes. The engine hangs, whatever its `/health` says."""

from collections.abc import Iterator

from qops.derive.serving import serving
from qops.evidence.engine import EngineMetrics
from qops.rule import Confidence, Found, Role, RuledOut, rule


@rule("SRV904", "engine-stalled", role=Role.SYMPTOM)
def engine_stalled(metrics: EngineMetrics) -> Iterator[Found | RuledOut]:
    """Requests run and no token comes."""
    for s in serving(metrics):
        if s.tokens == 0 and s.running + s.waiting > 0:
            yield Found(
                subject=f"engine on port {s.port}" if s.port else "engine",
                message=f"{s.running:.0f} requests run, {s.waiting:.0f} wait, and no token came in {s.seconds:.0f} s",
                evidence=s.quotes,
                confidence=Confidence.LIKELY,
            )
