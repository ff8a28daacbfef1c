"""SRV103: a checkpoint has no chat template: requests to /v1/chat/completions are refused."""

from collections.abc import Iterator

from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "SRV103",
    "checkpoint-without-chat-template",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(Fix("give one: `--chat-template FILE`; a base model has none by nature"),),
)
def checkpoint_without_chat_template(checkpoint: Checkpoint) -> Iterator[Found | RuledOut]:
    """A checkpoint has no chat template: requests to /v1/chat/completions are refused."""
    if checkpoint.template is False:
        message = "no chat template, neither in tokenizer_config.json nor in a file of its own"
        yield Found(checkpoint.folder, message, (checkpoint.quote,), Confidence.LIKELY)
