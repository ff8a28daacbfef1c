"""SRV806: the KV cache was full for a while, some requests were started over, and tokens came all the same."""

from collections.abc import Iterator

from qops.data.messages import engine, process
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "SRV806",
    "benign-preemption",
    severity=Severity.INFO,
    role=Role.INFO,
    fix=(
        Fix(
            "nothing to mend; where it is frequent, let fewer requests run at once (`--max-num-seqs`, "
            "`--max-running-requests`), or give the KV cache more memory"
        ),
    ),
)
def benign_preemption(logs: Logs) -> Iterator[Found | RuledOut]:
    """The KV cache was full, some requests were started over, and tokens came all the same."""
    full = logs.find(engine.PREEMPTED)
    if not full or logs.find(process.ERROR_LINE, engine.ENGINE_CORE_FAILED, engine.CUDA_OOM):
        return
    last = full[-1].quote
    after = [h for h in logs.find(engine.TOKENS_COME) if h.quote.source == last.source and h.quote.line > last.line]
    if after:
        yield Found(
            "engine",
            "requests were started over because the KV cache was full, and tokens came after that",
            (*quotes(full, 2), *quotes(after, 1)),
            Confidence.CERTAIN,
        )
