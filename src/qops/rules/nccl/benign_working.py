"""NCL811: the GPUs compute. High utilisation is no fault."""

from collections.abc import Iterator

from qops.derive.progress import computing, spinning
from qops.evidence.gpu import Gpus, GpuSamples
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule

MEMORY_BOUND = 70  # percent of memory traffic from which memory is what limits (measured: 100 against 22)


@rule("NCL811", "benign-working", role=Role.INFO, severity=Severity.INFO)
def benign_working(samples: GpuSamples, gpus: Gpus | None) -> Iterator[Found | RuledOut]:
    """The GPUs compute: busy, and no fault."""
    spun = {s.index for s in spinning(samples, gpus)}
    for s in computing(samples, gpus):
        if s.index in spun:
            continue
        kind = "memory-bound" if (s.memory_utilization or 0) >= MEMORY_BOUND else "compute-bound"
        power = f", {s.power:.0f} W" if s.power is not None else ""
        limit = f" of {s.power_limit:.0f} W" if s.power is not None and s.power_limit else ""
        yield Found(
            subject=f"GPU {s.index}",
            message=f"works, {kind}: {s.utilization} % busy, {s.memory_utilization} % memory traffic{power}{limit}",
            evidence=s.quotes[:2],
            confidence=Confidence.CERTAIN,
        )
