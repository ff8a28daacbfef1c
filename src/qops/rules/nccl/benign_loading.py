"""NCL812: weights are being loaded. A quiet GPU whose memory fills is no hang."""

from collections.abc import Iterator

from qops.derive.progress import loading
from qops.evidence.gpu import GpuSamples
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("NCL812", "benign-loading", role=Role.INFO, severity=Severity.INFO)
def benign_loading(samples: GpuSamples) -> Iterator[Found | RuledOut]:
    """Weights are being loaded: memory in use grows and hardly a kernel runs."""
    for s in loading(samples):
        yield Found(
            subject=f"GPU {s.index}",
            message=f"is being loaded: {s.loaded / 2**30:.1f} GiB arrived in {s.seconds:.0f} s",
            evidence=s.quotes[:3],
            confidence=Confidence.CERTAIN,
        )
