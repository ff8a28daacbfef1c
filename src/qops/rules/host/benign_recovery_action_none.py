"""HST810: the driver asks for no recovery."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, Severity, rule


@rule("HST810", "benign-recovery-action-none", role=Role.INFO, severity=Severity.INFO)
def benign_recovery_action_none(logs: Logs) -> Iterator[Found]:
    """The driver names None as the GPU's recovery action: it asks for nothing."""
    hits = logs.find(kernel.RECOVERY_NONE)
    if hits:
        yield Found(
            subject="GPU",
            message="the recovery action is None: the driver asks for nothing",
            evidence=quotes(hits, 1),
            confidence=Confidence.CERTAIN,
        )
