"""CUD050: one allocation asks for more than the GPU has."""

from collections.abc import Iterator

from qops.data.messages import cuda
from qops.evidence.message import Hit, Logs
from qops.rule import Confidence, Fix, Found, rule

BYTES = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@rule(
    "CUD050",
    "allocation-exceeds-gpu-memory",
    explains=("cuda-error", "cuda-oom-warmup", "cuda-oom-graph-capture"),
    fix=(Fix("ask for less at once: a smaller tensor, batch or context, or shard it over more GPUs"),),
)
def allocation_exceeds_gpu_memory(logs: Logs) -> Iterator[Found]:
    """One allocation asks for more than the GPU has, so that no setting can make it fit."""
    for hit in logs.find(cuda.ALLOCATION):
        if _bytes(hit, "asked") > _bytes(hit, "total"):
            g = hit.groups
            yield Found(
                subject=f"GPU {g['gpu']}",
                message=f"one allocation of {g['asked']} {g['asked_unit']} is larger than the whole memory of GPU "
                f"{g['gpu']}, {g['total']} {g['total_unit']}",
                evidence=(hit.quote,),
                confidence=Confidence.CERTAIN,
            )
            return


def _bytes(hit: Hit, name: str) -> float:
    try:
        return float(hit.groups[name]) * BYTES[hit.groups[f"{name}_unit"][0].upper()]
    except ValueError:
        return 0.0
