"""HST801: nvidia-smi lists the GPUs, and none is in a state of error."""

from collections.abc import Iterator

from qops.data.messages import backend, device, model, process, system
from qops.evidence.engine import EngineLogs
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, Severity, rule

BUSY, LITTLE = 90, 0.3  # percent of utilisation; share of the power limit that computing does not stay below

UNIFIED = 80  # watts that a GB10, which tells no limit, draws when it computes; held in its low-power state it draws 20


@rule("HST801", "gpus-answer", role=Role.INFO, severity=Severity.INFO)
def gpus_answer(gpus: Gpus | None, logs: Logs | None, engines: EngineLogs | None) -> Iterator[Found]:
    """The GPUs answer nvidia-smi, and none is in a state of error."""
    if engines and not any(e.ready for e in engines.logs):
        return  # what was asked about is an engine that does not serve yet: idle GPUs do not show that it will
    if logs and _unexplained(logs):
        return  # idle GPUs do not outweigh an error of which nobody knows what it means
    if logs and logs.find(device.INFOROM_CORRUPT):
        return  # what the board stores of itself is damaged; whether it computes right, the list does not say
    if gpus and gpus.bare:
        return  # rows that name boards say nothing of their state
    if gpus and gpus.gpus:
        if any(g.remap_failed or g.ecc_uncorrected or _spins(g) or _off_fabric(g) for g in gpus.gpus):
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
    # An assertion that names no shape says nothing; nor does a compiler that refuses an architecture it dropped.
    open_ended = (process.ERROR_LINE.id, model.SHAPE.id, backend.ASSEMBLER_ARCH.id)
    known = {(h.quote.source, h.quote.line) for h in logs.hits if h.id not in open_ended}
    return any((h.quote.source, h.quote.line) not in known for h in errors)


def _spins(gpu: Gpu) -> bool:
    """Return whether `gpu` says that it is busy and draws about what it draws when it waits."""
    limit = gpu.power_limit or (UNIFIED if "GB10" in gpu.name else 0)
    if gpu.utilization is None or gpu.power is None or not limit:
        return False
    return gpu.utilization >= BUSY and gpu.power < LITTLE * limit


def _off_fabric(gpu: Gpu) -> bool:
    """Return whether the registration of `gpu` with the NVLink fabric ended in a failure."""
    return gpu.fabric_state == "Completed" and gpu.fabric_status not in ("", "Success")
