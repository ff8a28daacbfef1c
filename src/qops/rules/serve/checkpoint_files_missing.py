"""SRV100: weights of a checkpoint are missing, cut short, or no weights at all."""

from collections.abc import Iterator

from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV100",
    "checkpoint-files-missing",
    explains=("engine-model-not-found", "weights-incomplete", "engine-core-failed"),
    fix=(
        Fix(
            "fetch what is missing: what is whole is kept",
            commands=("hf download REPOSITORY --local-dir DIR", "ansible-playbook site.yml --tags model_store"),
            variable="model_store_models",
            tag="model_store",
        ),
    ),
)
def checkpoint_files_missing(checkpoint: Checkpoint) -> Iterator[Found | RuledOut]:
    """Weights of a checkpoint are missing, cut short, or no weights at all."""
    for wrong in checkpoint.broken[:20]:
        yield Found(wrong.name, f"{wrong.name}: {wrong.why}", (checkpoint.quote,), Confidence.CERTAIN)
    if not checkpoint.weights and not checkpoint.broken:
        yield Found(
            checkpoint.folder, "there is no file with weights (*.safetensors)", (checkpoint.quote,), Confidence.CERTAIN
        )
    if checkpoint.absent:
        named = ", ".join(checkpoint.absent[:3])
        message = f"the index places tensors in files that do not hold them: {named}"
        yield Found(checkpoint.folder, message, (checkpoint.quote,), Confidence.CERTAIN)
