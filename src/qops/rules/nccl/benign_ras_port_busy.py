"""NCL802: a second job on the host finds RAS's port taken, which harms nothing."""

from collections.abc import Iterator

from qops.data.messages import nccl as messages
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "NCL802",
    "benign-ras-port-busy",
    severity=Severity.INFO,
    role=Role.INFO,
    fix=(Fix("nothing to mend; NCCL_RAS_ADDR=localhost:28029 gives the second job a witness of its own"),),
)
def benign_ras_port_busy(logs: Logs) -> Iterator[Found | RuledOut]:
    """RAS's port is taken by another job on the host: no fault."""
    hits = logs.find(messages.RAS_PORT_BUSY)
    if hits:
        yield Found(
            "NCCL RAS",
            "its port is taken by another job, so this one answers no RAS questions",
            quotes(hits, 1),
            Confidence.CERTAIN,
        )
