"""NCL815: all that was shown are notices that NCCL and PyTorch print on machines that work."""

from collections.abc import Iterator

from qops.data.messages import launch, rdma, torch
from qops.data.messages import nccl as messages
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule

_NOTICES = (
    messages.PLUGIN_ABSENT,
    messages.NO_MULTICAST,
    messages.P2P_DISABLED_BETWEEN,
    messages.RAS_PORT_BUSY,
    rdma.NO_IB_DEVICE,
    torch.NOT_DESTROYED,
    torch.THREADS_SET,
    launch.CUSTOM_AR_OFF,
)


@rule(
    "NCL815",
    "benign-notice",
    severity=Severity.INFO,
    role=Role.INFO,
    fix=(Fix("nothing to mend: look for what comes after these lines"),),
)
def benign_notice(logs: Logs) -> Iterator[Found | RuledOut]:
    """Every line that was shown is a notice that is also printed where all is well."""
    hits = logs.find(*_NOTICES)
    # One line that is none of them could be the fault's own, and a log that goes on says more than its notices.
    others = {h.id for h in logs.hits} - {m.id for m in (*_NOTICES, messages.PLUGIN_OF_HOST)}
    told = [h for h in hits if h.id != messages.RAS_PORT_BUSY.id]  # which has a rule of its own
    if told and not others and not logs.unclaimed and not logs.find(launch.CUSTOM_AR_SPANS):
        yield Found(
            "logs",
            "all that was shown are notices, as they are also printed where all is well",
            quotes(hits, 3),
            Confidence.CERTAIN,
        )
