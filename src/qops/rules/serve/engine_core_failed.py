"""SRV902: the engine died. Its last line never says why; the first error of a worker does."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.derive.serving import SERVES, starting
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Outcome, Role, Untold, rule


@rule("SRV902", "engine-core-failed", role=Role.SYMPTOM)
def engine_core_failed(logs: Logs, engines: EngineLogs | None) -> Iterator[Outcome]:
    """The engine died."""
    ended = logs.first(engine.SHUTDOWN)
    hits = logs.find(engine.ENGINE_CORE_FAILED)
    # A normal stop prints EngineDeadError too, after it was told to shut down (run on vLLM 0.32).
    own = [h for h in hits if not (ended and h.quote.source == ended.quote.source and h.quote.line > ended.quote.line)]
    if own:
        yield Found("engine", "the engine process died", quotes(own, 2), Confidence.CERTAIN)
    elif starting(engines):
        yield Untold(SERVES)
