"""SRV804: a checkpoint is whole: every file that its index names is there, as long as its header says."""

from collections.abc import Iterator

from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("SRV804", "checkpoint-whole", role=Role.INFO, severity=Severity.INFO)
def checkpoint_whole(checkpoint: Checkpoint) -> Iterator[Found | RuledOut]:
    """A checkpoint is whole: every file that its index names is there, as long as its header says."""
    if not checkpoint.weights or checkpoint.broken or checkpoint.absent or checkpoint.problems:
        return
    size = sum(checkpoint.stored.values()) / 1e9
    how = f", {checkpoint.quantisation.method} {checkpoint.quantisation.form}" if checkpoint.quantisation else ""
    yield Found(
        checkpoint.folder,
        f"{len(checkpoint.weights)} files with {size:.1f} GB of weights are as long as their headers say "
        f"({checkpoint.architecture}{how.rstrip()}); what is in them was not read",
        (checkpoint.quote,),
        Confidence.CERTAIN,
    )
