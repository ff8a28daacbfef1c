"""CUD009: the binary holds no code for this GPU."""

from collections.abc import Iterator

from qops.data.messages import cuda, engine
from qops.derive.cuda_compat import printed
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.process import CudaResults
from qops.rule import Confidence, Fix, Found, rule

NO_IMAGE = 209  # cudaErrorNoKernelImageForDevice, driver_types.h


@rule(
    "CUD009",
    "no-kernel-image-for-arch",
    explains=("cuda-error",),
    fix=(
        Fix(
            "use a wheel or an image that is built for this GPU's compute capability",
            commands=("nvidia-smi --query-gpu=name,compute_cap --format=csv",),
        ),
    ),
)
def no_kernel_image_for_arch(logs: Logs, results: CudaResults | None, gpus: Gpus | None) -> Iterator[Found]:
    """The binary holds no code for this GPU."""
    hits = logs.find(cuda.NO_KERNEL_IMAGE)
    evidence = (*quotes(hits, 3), *printed(results, NO_IMAGE))
    if not evidence:
        yield from _outside(logs)
        return
    gpu = next((g for g in gpus.gpus if g.compute_capability), None) if gpus else None
    yield Found(
        subject=gpu.name or "GPU" if gpu else "GPU",
        message="a kernel has no code for this GPU"
        + (f" (compute capability {gpu.compute_capability})" if gpu else ""),
        evidence=evidence,
        confidence=Confidence.CERTAIN,
    )


def _outside(logs: Logs) -> Iterator[Found]:
    """Read torch's warning of a GPU outside the range that it was built for."""
    found, limits = logs.first(cuda.CAPABILITY_FOUND), logs.first(cuda.CAPABILITY_RANGE)
    if not found or not limits or logs.find(engine.READY):
        return
    have = (int(found.groups["major"]), int(found.groups["minor"]))
    least, most = (tuple(int(n) for n in limits.groups[end].split(".")) for end in ("least", "most"))
    # A later minor number runs the code of an earlier one: torch warns of 12.1 above 12.0, and it works.
    if have < least or have[0] > most[0]:
        yield Found(
            subject="GPU",
            message=f"torch has no code for this GPU's compute capability {have[0]}.{have[1]}",
            evidence=(found.quote, limits.quote),
            confidence=Confidence.LIKELY,
        )
