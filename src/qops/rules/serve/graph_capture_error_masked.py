"""SRV004: an error inside CUDA graph capture shows as a hang, because the other ranks wait in the clean-up."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV004",
    "graph-capture-error-masked",
    explains=("collective-hang", "shm-broadcast-wait", "watchdog-timeout"),
    fix=(
        Fix(
            "see the first error: start once without graphs (`--disable-cuda-graph`, `--enforce-eager`), then lower "
            "the captured batch sizes (`--cuda-graph-max-bs`) or leave more memory"
        ),
    ),
)
def graph_capture_error_masked(logs: Logs) -> Iterator[Found | RuledOut]:
    """An error inside CUDA graph capture is masked and shows as a hang."""
    started = logs.find(engine.CAPTURE)
    empty = logs.find(engine.GRAPH_ADDRESSES)
    if started and empty and not logs.find(engine.CAPTURE_DONE):
        yield Found(
            subject="engine",
            message="capture was left with no graph captured on some ranks (0 addresses registered), so an error in it "
            "was swallowed and the other ranks wait",
            evidence=(*quotes(started, 2), *quotes(empty, 2)),
            confidence=Confidence.LIKELY,
        )
