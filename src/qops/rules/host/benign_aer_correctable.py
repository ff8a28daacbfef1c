"""HST808: a few correctable PCIe errors, which the link repaired itself."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.kernel import KernelLog
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, Severity, rule

FEW = 100  # lines in one log; a link that repeats more is worth a look at its riser


@rule("HST808", "benign-aer-correctable", role=Role.INFO, severity=Severity.INFO)
def benign_aer_correctable(logs: Logs, log: KernelLog | None) -> Iterator[Found]:
    """A few correctable PCIe errors, which the link repaired by itself."""
    hits = logs.find(kernel.AER_CORRECTABLE)
    worse = [a for a in (log.aer if log else ()) if a.severity and not a.severity.lower().startswith("correct")]
    if not hits or worse or logs.find(kernel.SURPRISE_DOWN, kernel.XID_BUS, kernel.FELL_OFF_BUS):
        return
    count = logs.count(kernel.AER_CORRECTABLE)
    if count <= FEW:
        yield Found(
            subject="PCIe",
            message=f"{count} correctable PCIe error line{'s' if count > 1 else ''}: the link repaired them",
            evidence=quotes(hits, 1),
            confidence=Confidence.CERTAIN,
        )
