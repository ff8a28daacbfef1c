"""SRV101: a document of a checkpoint is missing or broken, or says no architecture."""

from collections.abc import Iterator

from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV101",
    "checkpoint-config-unreadable",
    explains=("engine-model-not-found", "engine-core-failed"),
    fix=(Fix("fetch that file again", commands=("hf download REPOSITORY FILE --local-dir DIR",)),),
)
def checkpoint_config_unreadable(checkpoint: Checkpoint) -> Iterator[Found | RuledOut]:
    """A document of a checkpoint is missing or broken, or says no architecture."""
    for wrong in checkpoint.problems[:20]:
        yield Found(wrong.name, f"{wrong.name}: {wrong.why}", (checkpoint.quote,), Confidence.CERTAIN)
    if not checkpoint.problems and not (checkpoint.architecture and checkpoint.model_type):
        lacks = "architectures" if not checkpoint.architecture else "model_type"
        yield Found("config.json", f"config.json says no {lacks}", (checkpoint.quote,), Confidence.LIKELY)
