"""HST009: the GPU's memory has errors that ECC cannot correct."""

from collections.abc import Iterator

from qops.data import xid
from qops.data.messages import cuda, device, kernel, system
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.message import Hit, Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, Severity, rule


@rule(
    "HST009",
    "gpu-memory-ecc-hardware",
    explains=(
        "xid-event",
        "cuda-error",
        "kernel-bug-illegal-access",
        "specdecode-kernel-illegal-access",
        "gpu-needs-reset",
    ),
    fix=(
        Fix(
            "drain the host and reset the GPU, so that the rows are remapped; replace it if errors come back",
            commands=("nvidia-smi -q -d ECC,ROW_REMAPPER",),
            risk="a reset ends every job on that GPU",
        ),
    ),
)
def gpu_memory_ecc_hardware(logs: Logs, gpus: Gpus | None) -> Iterator[Found | RuledOut]:
    """The GPU's memory has errors that ECC cannot correct, or rows that wait to be remapped."""
    for gpu in gpus.gpus if gpus else ():
        said = [f"{gpu.ecc_uncorrected} uncorrectable ECC errors"] if gpu.ecc_uncorrected else []
        said += ["row remapping failed"] if gpu.remap_failed else []
        said += ["a row waits to be remapped"] if gpu.remap_pending else []
        if said:
            yield Found(
                subject=f"GPU {gpu.index} ({gpu.bus_id or gpu.name})",
                message=f"GPU {gpu.index} has {', '.join(said)}",
                evidence=gpu.said("ecc_uncorrected", "remap_failed", "remap_pending"),
                confidence=Confidence.CERTAIN if gpu.remap_failed or gpu.ecc_uncorrected else Confidence.LIKELY,
            )
    logged = logs.find(kernel.XID_MEMORY)
    marked = [h for h in logs.find(kernel.XID_REMAP) if h.groups["code"] == "63"]
    xids, recorded = ([h for h in some if not _reset_since(h, gpus)] for some in (logged, marked))
    hits = (*xids, *logs.find(cuda.ECC_UNCORRECTABLE, kernel.REMAP_FAILED, system.REMAP_PENDING, device.DCGM_MEMORY))
    if not hits and not recorded:
        if old := (*logged, *marked):
            yield RuledOut(
                "the GPU was reset since: it counts no error, and no row waits to be remapped", quotes(old, 1)
            )
        return
    named = xids[0] if xids else recorded[0] if recorded else None
    bus = named.groups.get("bus", "") if named else ""
    yield Found(
        subject=f"GPU {bus}" if bus else "GPU",
        message=f"Xid {named.groups['code']}: {xid.meaning(int(named.groups['code'])).meaning}"
        if named
        else "the GPU reports an uncorrectable memory error",
        evidence=quotes((*hits, *recorded, *logs.find(kernel.ECC_COUNT)), 4),
        confidence=Confidence.CERTAIN if hits else Confidence.POSSIBLE,
        severity=None if hits else Severity.WARNING,
    )


def _reset_since(hit: Hit, gpus: Gpus | None) -> bool:
    """Return whether the GPU of an Xid counts no error any more: what it counts, a reset alone takes back."""
    bus = hit.groups.get("bus", "").lower()
    return any(bus and bus in gpu.bus_id.lower() and _clean(gpu) for gpu in (gpus.gpus if gpus else ()))


def _clean(gpu: Gpu) -> bool:
    return gpu.ecc_uncorrected == 0 and gpu.remap_pending is False and gpu.remap_failed is False
