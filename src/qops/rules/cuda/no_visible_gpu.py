"""CUD008: CUDA_VISIBLE_DEVICES, or the container's device list, leaves no GPU."""

from collections.abc import Iterator

from qops.data.messages import cuda
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "CUD008",
    "no-visible-gpu",
    fix=(
        Fix(
            "unset CUDA_VISIBLE_DEVICES, or set it to indexes that `nvidia-smi -L` lists inside the container",
            commands=("nvidia-smi -L", "env | grep -E 'CUDA_VISIBLE_DEVICES|NVIDIA_VISIBLE_DEVICES'"),
        ),
    ),
)
def no_visible_gpu(logs: Logs, environment: Environment | None, gpus: Gpus | None) -> Iterator[Found | RuledOut]:
    """CUDA_VISIBLE_DEVICES, or the container's device list, leaves no GPU."""
    hits = logs.find(cuda.NO_VISIBLE_GPU)
    if not hits:
        return
    masks = environment.get("CUDA_VISIBLE_DEVICES") if environment else ()
    known = {g.index for g in gpus.gpus} if gpus else set()
    for mask in masks:
        wanted = [part.strip() for part in mask.value.split(",") if part.strip()]
        absent = [w for w in wanted if known and w.isdigit() and int(w) not in known]
        if not wanted or wanted == ["-1"] or absent:
            yield Found(
                subject=mask.owner,
                message=f"CUDA_VISIBLE_DEVICES={mask.value or '(empty)'} names no GPU of this host"
                + (f", which has {', '.join(map(str, sorted(known)))}" if known else ""),
                evidence=(mask.quote, *quotes(hits, 2)),
                confidence=Confidence.CERTAIN,
            )
            return
    yield Found(
        subject="process",
        message="CUDA finds no GPU, and no mask that hides them was seen",
        evidence=quotes(hits, 2),
        confidence=Confidence.POSSIBLE,
    )
