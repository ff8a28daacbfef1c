"""NCL817: NCCL's communicators were destroyed in order, which a hang does not come to."""

from collections.abc import Iterator

from qops.data.messages import health
from qops.derive.soundness import unexplained
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("NCL817", "communicators-ended", role=Role.INFO, severity=Severity.INFO)
def communicators_ended(logs: Logs) -> Iterator[Found | RuledOut]:
    """NCCL's communicators were destroyed in order: the job came to its end."""
    ended = logs.find(health.NCCL_DESTROYED)
    if ended and not logs.find(health.NCCL_ABORTED) and not unexplained(logs):
        message = f"{len(ended)} communicators were destroyed in order, none was aborted"
        yield Found("job", message, quotes(ended, 2), Confidence.LIKELY)
