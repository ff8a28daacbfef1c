"""SRV008: workers are forked after CUDA was started."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV008",
    "fork-after-cuda-init",
    explains=("engine-core-failed", "cuda-error", "job-failed"),
    fix=(
        Fix(
            "start workers by spawn, and touch no GPU before: the program needs an `if __name__ == '__main__'` guard",
            commands=("VLLM_WORKER_MULTIPROC_METHOD=spawn COMMAND",),
        ),
    ),
)
def fork_after_cuda_init(logs: Logs) -> Iterator[Found | RuledOut]:
    """Workers are forked after CUDA was started."""
    hits = logs.find(engine.FORK)
    if hits:
        yield Found("engine", "a forked worker tries to start CUDA again", quotes(hits, 2), Confidence.CERTAIN)
