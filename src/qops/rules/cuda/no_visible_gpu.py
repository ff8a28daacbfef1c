"""CUD008: CUDA_VISIBLE_DEVICES, or the container's device list, leaves no GPU."""

from collections.abc import Iterator

from qops.data.messages import cuda
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.process import Environment
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, rule

NO_DEVICE = ("", "-1", "void", "none", "NoDevFiles")  # masks that name no GPU, for CUDA and for the container toolkit


@rule(
    "CUD008",
    "no-visible-gpu",
    explains=("cuda-error",),
    fix=(
        Fix(
            "unset CUDA_VISIBLE_DEVICES, or set it to indexes that `nvidia-smi -L` lists inside the container; start a "
            "container with GPUs (--gpus all, or --device nvidia.com/gpu=all)",
            commands=("nvidia-smi -L", "env | grep -E 'CUDA_VISIBLE_DEVICES|NVIDIA_VISIBLE_DEVICES'"),
        ),
    ),
)
def no_visible_gpu(logs: Logs, environment: Environment | None, gpus: Gpus | None) -> Iterator[Found]:
    """CUDA_VISIBLE_DEVICES, or the container's device list, leaves no GPU."""
    plain = logs.find(cuda.NO_VISIBLE_GPU)
    # An engine that finds no platform says so in its own words; much else than a mask can be the reason.
    hits = plain or logs.find(cuda.DEVICE_NOT_INFERRED)
    if not hits:
        return
    known = {str(g.index) for g in gpus.gpus} if gpus else set()
    uuids = tuple(g.uuid for g in gpus.gpus) if gpus else ()
    for name, value, owner, quote in _masks(logs, environment):
        wanted = [part.strip() for part in value.split(",")]
        first = wanted[0]
        absent = known and first.isdigit() and first not in known
        strange = any(uuids) and first.startswith("GPU-") and not any(u.startswith(first) for u in uuids)
        if first in NO_DEVICE or (name == "CUDA_VISIBLE_DEVICES" and (absent or strange)):
            yield Found(
                subject=owner,
                message=f"{name}={value or '(empty)'} names no GPU of this host"
                + (f", which has {', '.join(sorted(known))}" if known else ""),
                evidence=(quote, *quotes(hits, 2)),
                confidence=Confidence.CERTAIN,
            )
            return
    bare = logs.find(cuda.DRIVER_NOT_DETECTED)
    if bare:
        yield Found(
            subject="container",
            message="the container was started without GPUs: its entry script finds no driver in it",
            evidence=(*quotes(bare, 1), *quotes(hits, 2)),
        )
        return
    if not plain:
        return
    yield Found(
        subject="process",
        message="CUDA finds no GPU, and no mask that hides them was seen",
        evidence=quotes(hits, 2),
        confidence=Confidence.POSSIBLE,
    )


def _masks(logs: Logs, environment: Environment | None) -> Iterator[tuple[str, str, str, Quote]]:
    for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
        for hit in logs.find(cuda.VISIBLE_DEVICES):
            if f"{hit.groups['name']}_VISIBLE_DEVICES" == name:
                yield name, hit.groups["value"], "process", hit.quote
        for mask in environment.get(name) if environment else ():
            yield name, mask.value, mask.owner, mask.quote
