"""HST807: the driver says that its persistence mode will go."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, Severity, rule


@rule("HST807", "benign-persistence-notice", role=Role.INFO, severity=Severity.INFO)
def benign_persistence_notice(logs: Logs) -> Iterator[Found]:
    """The driver says that persistence mode is deprecated in favour of nvidia-persistenced."""
    hits = logs.find(kernel.PERSISTENCE_NOTICE)
    if hits:
        yield Found(
            subject="driver",
            message="persistence mode is deprecated; it still works, and nvidia-persistenced replaces it",
            evidence=quotes(hits, 1),
            confidence=Confidence.CERTAIN,
        )
