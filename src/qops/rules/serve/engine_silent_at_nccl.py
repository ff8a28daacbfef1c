"""SRV903: the engine's log ends where its ranks connect. What it waits for is not in the log."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.derive.serving import SERVES, starting
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs
from qops.rule import Confidence, Found, Outcome, Role, Untold, rule


@rule("SRV903", "engine-silent-at-nccl", role=Role.SYMPTOM)
def engine_silent_at_nccl(logs: Logs, engines: EngineLogs | None) -> Iterator[Outcome]:
    """The engine's log ends where its ranks connect."""
    ends = {(q.source, q.line): q for q in logs.ends}
    for hit in logs.find(engine.NCCL_BANNER):
        if (hit.quote.source, hit.quote.line) in ends:
            text = "the log ends at the banner of NCCL: the ranks start to connect, and nothing more is said"
            yield Found("engine", text, (hit.quote,), Confidence.LIKELY)
            return
    if starting(engines):
        yield Untold(SERVES)
