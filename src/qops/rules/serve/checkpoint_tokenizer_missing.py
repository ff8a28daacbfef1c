"""SRV102: a checkpoint has no tokenizer: engines fail after all weights are loaded, with an error that says nothing."""

from collections.abc import Iterator

from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Fix, Found, RuledOut, rule

_ALONE = {"tokenizer.json", "tokenizer.model", "tekken.json", "tiktoken.model"}
_TOGETHER = {"vocab.json", "merges.txt"}


@rule(
    "SRV102",
    "checkpoint-tokenizer-missing",
    explains=("engine-core-failed",),
    fix=(
        Fix("fetch the tokenizer's files", commands=("hf download REPOSITORY --include 'token*' --local-dir DIR",)),
        Fix("name another one: `--tokenizer`, with vLLM", kind="workaround"),
    ),
)
def checkpoint_tokenizer_missing(checkpoint: Checkpoint) -> Iterator[Found | RuledOut]:
    """A checkpoint has no tokenizer: engines fail after all weights are loaded, with an error that says nothing."""
    there = set(checkpoint.tokenizer)
    if there & _ALONE or there >= _TOGETHER:
        return
    has = f"only {', '.join(sorted(there))}" if there else "no tokenizer.json, tokenizer.model or tekken.json"
    yield Found(checkpoint.folder, f"it has {has}", (checkpoint.quote,), Confidence.CERTAIN)
