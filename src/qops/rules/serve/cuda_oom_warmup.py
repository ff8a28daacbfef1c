"""SRV002: the engine runs out of memory while it warms up."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.evidence.message import Logs
from qops.rule import Confidence, Fix, Found, RuledOut, rule
from qops.rules.serve.cuda_oom_graph_capture import out_of_memory_near, warmed


@rule(
    "SRV002",
    "cuda-oom-warmup",
    explains=("engine-core-failed", "cuda-error", "job-failed"),
    fix=(
        Fix("lower `--max-num-seqs` or `--gpu-memory-utilization`: the warm-up allocates for the largest batch"),
        Fix("lower `--max-num-batched-tokens`", kind="workaround"),
    ),
)
def cuda_oom_warmup(logs: Logs) -> Iterator[Found | RuledOut]:
    """The engine runs out of memory while it warms up."""
    near = out_of_memory_near(logs, warmed(logs), logs.find(engine.CAPTURE))
    if near:
        evidence = tuple(h.quote for h in near)
        yield Found("engine", "memory ran out during warm-up", evidence, Confidence.LIKELY)
