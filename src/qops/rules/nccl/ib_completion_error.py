"""NCL913: an RDMA transfer failed. Status 12 is a time-out, 5 is what follows on the same connection."""

from collections.abc import Iterator

from qops.data.messages import rdma
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, RuledOut, rule

# enum ibv_wc_status, rdma-core libibverbs/verbs.h
_MEANING = {
    "1": "a message was longer than the receiver takes (status 1)",
    "4": "the local device may not access the memory (status 4)",
    "5": "flushed after an earlier error (status 5)",
    "9": "the peer refused the request (status 9)",
    "10": "the peer does not grant access to the memory (status 10)",
    "11": "the peer could not carry it out (status 11)",
    "12": "no answer after all retries (status 12)",
    "13": "the peer was not ready after all retries (status 13)",
}


@rule("NCL913", "ib-completion-error", role=Role.SYMPTOM)
def ib_completion_error(logs: Logs) -> Iterator[Found | RuledOut]:
    """An RDMA transfer failed."""
    hits = logs.find(rdma.IB_COMPLETION)
    failed = logs.find(rdma.MODIFY_QP)
    # A flushed request (5) is a consequence of another: the first one that is none leads.
    first = next((h for h in hits if h.groups["status"] != "5"), hits[0] if hits else None)
    if first:
        status = first.groups["status"]
        device = first.groups.get("hca", "")
        text = _MEANING.get(status, f"status {status}")
        yield Found(f"RDMA {device}".rstrip(), text, (first.quote, *quotes(failed, 1)), Confidence.CERTAIN)
    elif failed:
        yield Found("RDMA", "a connection could not be made", quotes(failed, 2), Confidence.CERTAIN)
    elif locked := logs.find(rdma.MEMLOCK_VERBS, rdma.REGISTER_GPU_MEMORY, rdma.VERBS_MUTE):
        yield Found("RDMA", "memory could not be registered for it", quotes(locked, 2), Confidence.CERTAIN)
