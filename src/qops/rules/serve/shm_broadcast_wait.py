"""SRV901: vLLM's workers wait for a message that does not come. It says that something hangs or is slow, never what."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.derive.progress import loading
from qops.derive.serving import SERVES, starting
from qops.evidence.engine import EngineLogs
from qops.evidence.gpu import GpuSamples
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Outcome, Role, RuledOut, Untold, rule


@rule("SRV901", "shm-broadcast-wait", role=Role.SYMPTOM)
def shm_broadcast_wait(logs: Logs, samples: GpuSamples | None, engines: EngineLogs | None) -> Iterator[Outcome]:
    """Workers wait for a message that does not come."""
    hits = logs.find(engine.SHM_BROADCAST, engine.RPC_TIMEOUT)
    if not hits:
        if starting(engines):
            yield Untold(SERVES)
        return
    after = [
        h
        for h in logs.find(engine.READY, engine.STARTED_FURTHER)
        if all(h.quote.source == w.quote.source and h.quote.line > w.quote.line for w in hits)
    ]
    if after:
        yield RuledOut("the wait ended: the engine went on", quotes(after, 1))
        return
    loads = loading(samples)
    if loads:
        yield RuledOut("weights are still arriving on the GPUs", loads[0].quotes[:2])
        yield Untold(SERVES)
        return
    yield Found("engine", "workers wait for a message that does not come", quotes(hits, 3), Confidence.CERTAIN)
