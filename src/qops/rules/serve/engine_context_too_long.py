"""SRV051: the context length is longer than the model allows."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV051",
    "engine-context-too-long",
    explains=("job-failed", "engine-core-failed"),
    fix=(
        Fix("serve at most what the model was made for, or scale it with the model's own YaRN settings"),
        Fix(
            "force it",
            kind="workaround",
            commands=("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 COMMAND",),
            risk="wrong numbers beyond the model's length",
        ),
    ),
)
def engine_context_too_long(logs: Logs) -> Iterator[Found | RuledOut]:
    """The context length is longer than the model allows."""
    hits = logs.find(engine.CONTEXT_TOO_LONG)
    if hits:
        g = hits[0].groups
        text = f"a context of {g['wanted']} tokens was asked of a model made for {g['limit']}"
        yield Found("engine", text, quotes(hits, 2), Confidence.CERTAIN)
