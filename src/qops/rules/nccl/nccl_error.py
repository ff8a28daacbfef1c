"""NCL912: an NCCL call failed with one of its general errors, which name no cause."""

from collections.abc import Iterator

from qops.data.messages import nccl as messages
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, RuledOut, rule


@rule("NCL912", "nccl-error", role=Role.SYMPTOM)
def nccl_error(logs: Logs) -> Iterator[Found | RuledOut]:
    """An NCCL call failed with a general error (unhandled system or CUDA error, internal error, remote error)."""
    hits = logs.find(messages.UNHANDLED, messages.CUDA_FAILURE)
    if hits:
        yield Found("NCCL", "a call failed with an error that names no cause", quotes(hits, 2), Confidence.CERTAIN)
