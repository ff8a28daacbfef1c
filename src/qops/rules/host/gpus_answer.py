"""HST801: nvidia-smi lists the GPUs, and none is in a state of error."""

from collections.abc import Iterator

from qops.data.messages import engine, process, system
from qops.derive import platform, stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.rule import Confidence, Found, Role, Severity, rule

BUSY, LITTLE = 90, 0.3  # percent of utilisation; share of the power limit that computing does not stay below


@rule("HST801", "gpus-answer", role=Role.INFO, severity=Severity.INFO)
def gpus_answer(
    gpus: Gpus | None, logs: Logs | None, engines: EngineLogs | None, nccl: NcclLog | None, jobs: JobResults | None
) -> Iterator[Found]:
    """The GPUs answer nvidia-smi, and none is in a state of error."""
    if engines and not any(e.ready for e in engines.logs):
        return  # what was asked about is an engine that does not serve yet: idle GPUs do not show that it will
    if (nccl and (nccl.ranks or nccl.channels) and not stall.works(jobs, engines)) or (
        logs and logs.find(engine.OTHER_ENGINE)
    ):
        return  # the same for a job of several GPUs that was begun, and for an engine whose log nobody reads here
    if logs and _unexplained(logs):
        return  # idle GPUs do not outweigh an error of which nobody knows what it means
    if logs and platform.refused(logs, gpus):
        return  # an IOMMU that refuses what a GPU sends
    if gpus and gpus.bare:
        return  # rows that name boards say nothing of their state
    if gpus and gpus.gpus:
        if any(g.remap_failed or g.ecc_uncorrected or _spins(g) for g in gpus.gpus):
            return
        named = len({g.index for g in gpus.gpus})
        name = next((f" ({g.name})" for g in gpus.gpus if g.name), "")
        yield Found(
            subject="host",
            message=f"nvidia-smi lists {named} GPU{'s' if named > 1 else ''}{name} without an error",
            evidence=(gpus.gpus[0].quote,),
            confidence=Confidence.CERTAIN,
        )
    elif logs and (hits := logs.find(system.GPU_LISTED)):
        yield Found(
            subject="host",
            message=f"nvidia-smi lists {len(hits)} GPU{'s' if len(hits) > 1 else ''}",
            evidence=quotes(hits, 1),
            confidence=Confidence.CERTAIN,
        )


def _unexplained(logs: Logs) -> bool:
    """Return whether a line calls itself an error and holds no message that is known."""
    errors = logs.find(process.ERROR_LINE)
    if not errors:
        return False
    known = {(h.quote.source, h.quote.line) for h in logs.hits if h.id != process.ERROR_LINE.id}
    return any((h.quote.source, h.quote.line) not in known for h in errors)


def _spins(gpu: Gpu) -> bool:
    """Return whether `gpu` says that it is busy and draws about what it draws when it waits."""
    if gpu.utilization is None or gpu.power is None or not gpu.power_limit:
        return False
    return gpu.utilization >= BUSY and gpu.power < LITTLE * gpu.power_limit
