"""SRV052: the engine finds no model, or a damaged one, where it was told to look."""

from collections.abc import Iterator

from qops.data.messages import model
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV052",
    "engine-model-not-found",
    explains=("job-failed", "engine-core-failed"),
    fix=(
        Fix(
            "check the path or the name: a folder needs config.json, a tokenizer and whole .safetensors files; a "
            "private repository needs a token",
            commands=("ls -l MODEL_FOLDER",),
        ),
    ),
)
def engine_model_not_found(logs: Logs) -> Iterator[Found | RuledOut]:
    """The engine finds no model, or a damaged one, where it was told to look."""
    hits = logs.find(model.NO_MODEL)
    if hits:
        yield Found("engine", "no usable model is where the engine looks for it", quotes(hits, 3), Confidence.CERTAIN)
