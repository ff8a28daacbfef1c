"""HST806: the kernel notes that the NVIDIA module is from outside its tree."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.kernel import KernelLog
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, Severity, rule


@rule("HST806", "benign-module-taint", role=Role.INFO, severity=Severity.INFO)
def benign_module_taint(logs: Logs, log: KernelLog | None) -> Iterator[Found]:
    """The kernel notes that the NVIDIA module is unsigned or from outside its tree, and loads it."""
    if log and log.complaints:
        return  # a note on the module says nothing where its driver complains
    hits = logs.find(kernel.MODULE_TAINT)
    if hits and not logs.find(kernel.KEY_REJECTED):
        yield Found(
            subject="kernel",
            message="the module taints the kernel, which is a note and no refusal",
            evidence=quotes(hits, 1),
            confidence=Confidence.CERTAIN,
        )
