"""HST801: nvidia-smi lists the GPUs, and none is in a state of error."""

from collections.abc import Iterator

from qops.data.messages import device, engine, health, system
from qops.derive import platform, stall
from qops.derive.progress import may_wait
from qops.derive.soundness import none_serves, unexplained
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpu, Gpus, GpuSamples
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.evidence.text import Quote
from qops.rule import Confidence, Found, Role, Severity, rule

BUSY, LITTLE = 90, 0.3  # percent of utilisation; share of the power limit that computing does not stay below
UNIFIED = 80  # watts that a GB10, which tells no limit, draws when it computes; held in its low-power state it draws 20


@rule("HST801", "gpus-answer", role=Role.INFO, severity=Severity.INFO)
def gpus_answer(
    gpus: Gpus | None,
    logs: Logs | None,
    engines: EngineLogs | None,
    samples: GpuSamples | None,
    nccl: NcclLog | None,
    jobs: JobResults | None,
) -> Iterator[Found]:
    """The GPUs answer nvidia-smi, and none is in a state of error."""
    if none_serves(engines):
        return  # what was asked about is an engine that does not serve yet: idle GPUs do not show that it will
    if (nccl and (nccl.ranks or nccl.channels) and not stall.works(jobs, engines)) or (
        logs and logs.find(engine.OTHER_ENGINE)
    ):
        return  # the same for a job of several GPUs that was begun, and for an engine whose log nobody reads here
    if unexplained(logs):
        return  # idle GPUs do not outweigh an error of which nobody knows what it means
    if logs and (logs.find(device.INFOROM_CORRUPT) or platform.refused(logs, gpus)):
        return  # what the board stores of itself is damaged, or an IOMMU refuses what a GPU sends
    if gpus and gpus.bare:
        return  # rows that name boards say nothing of their state
    if gpus and gpus.gpus:
        if any(g.remap_failed or g.ecc_uncorrected or _spins(g) or _off_fabric(g) for g in gpus.gpus):
            return
        named = len({g.index for g in gpus.gpus})
        name = next((f" ({g.name})" for g in gpus.gpus if g.name), "")
        yield _sign(f"lists {_count(named)}{name} without an error", (gpus.gpus[0].quote,))
    elif logs and (hits := logs.find(system.GPU_LISTED)):
        yield _sign(f"lists {_count(len(hits))}", quotes(hits, 1))
    elif samples and (read := [i for i in samples.indexes if i >= 0]):
        if not any(may_wait(samples, i) for i in read):
            yield _sign(f"reads {_count(len(read))}", (samples.of(read[0])[0].quote,))
    elif logs and (hits := logs.find(health.PMON)):
        yield _sign("lists what uses the GPUs", quotes(hits, 1))


def _sign(what: str, evidence: tuple[Quote, ...]) -> Found:
    return Found(subject="host", message=f"nvidia-smi {what}", evidence=evidence, confidence=Confidence.CERTAIN)


def _count(number: int) -> str:
    return f"{number} GPU{'s' if number > 1 else ''}"


def _spins(gpu: Gpu) -> bool:
    """Return whether `gpu` says that it is busy and draws about what it draws when it waits."""
    limit = gpu.power_limit or (UNIFIED if "GB10" in gpu.name else 0)
    if gpu.utilization is None or gpu.power is None or not limit:
        return False
    return gpu.utilization >= BUSY and gpu.power < LITTLE * limit


def _off_fabric(gpu: Gpu) -> bool:
    """Return whether the registration of `gpu` with the NVLink fabric ended in a failure."""
    return gpu.fabric_state == "Completed" and gpu.fabric_status not in ("", "Success")
