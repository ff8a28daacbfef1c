"""SRV003: the engine runs out of memory while it captures CUDA graphs."""

from collections.abc import Iterator, Sequence

from qops.data.messages import engine
from qops.evidence.message import Hit, Logs
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, RuledOut, rule

NEAR = 200  # lines between what the engine was doing and the error: a traceback of several workers fits in it
FRAMES = 24  # lines from capture's frame to that of the dummy run, each frame with its source and a line of carets


@rule(
    "SRV003",
    "cuda-oom-graph-capture",
    explains=("engine-core-failed", "cuda-error", "job-failed", "graph-capture-error-masked"),
    fix=(
        Fix(
            "leave memory for the graphs: lower `--gpu-memory-utilization` / `--mem-fraction-static`, or capture fewer "
            "sizes (`--max-num-seqs`, `--cuda-graph-max-bs`)"
        ),
        Fix("run without graphs: `--enforce-eager` or `--disable-cuda-graph`", kind="workaround", risk="slower decode"),
    ),
)
def cuda_oom_graph_capture(logs: Logs) -> Iterator[Found | RuledOut]:
    """The engine runs out of memory while it captures CUDA graphs."""
    near = out_of_memory_near(logs, logs.find(engine.CAPTURE), warmed(logs))
    failed = logs.first(engine.CAPTURE_FAILED)
    memory = logs.first(engine.CUDA_OOM)
    if failed and memory:
        near = (failed, memory)
    if not near:
        near = _elsewhere(logs)
        confidence = Confidence.POSSIBLE
    else:
        confidence = Confidence.LIKELY
    if near:
        evidence: tuple[Quote, ...] = tuple(h.quote for h in near)
        yield Found("engine", "memory ran out while CUDA graphs were captured", evidence, confidence)


def _elsewhere(logs: Logs) -> tuple[Hit, Hit] | None:
    """Return a capture that was begun in one text and an error in another, such as NCCL's own log, or None."""
    begun, error = logs.find(engine.CAPTURE), logs.first(engine.CUDA_OOM)
    if not begun or error is None or logs.find(engine.CAPTURE_DONE, engine.WARMUP):
        return None
    return None if any(h.quote.source == error.quote.source for h in begun) else (begun[-1], error)


def out_of_memory_near(logs: Logs, doing: Sequence[Hit], other: Sequence[Hit]) -> tuple[Hit, Hit] | None:
    """Return what the engine was doing and the out-of-memory error near it, when nothing of `other` is nearer."""
    served = logs.find(engine.READY)
    best: tuple[int, Hit, Hit] | None = None
    for error in logs.find(engine.CUDA_OOM):
        for hit in doing:
            distance = _distance(hit, error)
            if any(_distance(hit, r) is not None and hit.quote.line < r.quote.line < error.quote.line for r in served):
                continue  # the start was over: what ran out is memory for a request
            if distance is not None and (best is None or distance < best[0]):
                best = (distance, hit, error)
    if best is None:
        return None
    rival = [d for h in other for d in [_distance(h, best[2])] if d is not None]
    return None if rival and min(rival) < best[0] else (best[1], best[2])


def warmed(logs: Logs) -> list[Hit]:
    """Return the lines of warm-up, less the dummy runs that capture itself asks for: its frame stands above theirs."""
    captures = {(h.quote.source, h.quote.line) for h in logs.find(engine.CAPTURE)}
    return [
        h
        for h in logs.find(engine.WARMUP)
        if "_dummy_run" not in h.quote.text
        or not any((h.quote.source, h.quote.line - above) in captures for above in range(1, FRAMES))
    ]


def _distance(hit: Hit, error: Hit) -> int | None:
    if hit.quote.source != error.quote.source:
        return None
    distance = abs(error.quote.line - hit.quote.line)
    return distance if distance <= NEAR else None
