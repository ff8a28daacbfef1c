"""HST801: nvidia-smi lists the GPUs, and none is in a state of error."""

from collections.abc import Iterator

from qops.data.messages import system
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, Severity, rule


@rule("HST801", "gpus-answer", role=Role.INFO, severity=Severity.INFO)
def gpus_answer(gpus: Gpus | None, logs: Logs | None) -> Iterator[Found]:
    """The GPUs answer nvidia-smi, and none is in a state of error."""
    if gpus and gpus.gpus:
        if any(g.remap_failed or g.ecc_uncorrected for g in gpus.gpus):
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
