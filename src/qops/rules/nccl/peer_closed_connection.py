"""NCL911: a rank lost its connection to another, which ended first. It says where to look, never why."""

from collections.abc import Iterator

from qops.data.messages import nccl as messages
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, RuledOut, rule


@rule("NCL911", "peer-closed-connection", role=Role.SYMPTOM)
def peer_closed_connection(logs: Logs) -> Iterator[Found | RuledOut]:
    """A rank lost its connection to another that ended first."""
    hits = logs.find(messages.PEER_CLOSED, messages.CONNECTION_RESET)
    if hits:
        peer = next((h.groups["peer"] for h in hits if h.groups.get("peer")), "")
        yield Found(
            "job",
            f"the connection to {peer or 'a peer'} is gone: another rank ended first, look for its error",
            quotes(hits, 2),
            Confidence.CERTAIN,
        )
