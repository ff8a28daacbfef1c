"""SRV803: what a checkpoint wants of an engine, that is easily missed."""

from collections.abc import Iterator

from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule

# Hybrid models with linear attention in their format with vision (QwenLM/Qwen3.8 issue 108; engines' flag data).
_HYBRID = ("Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration")


@rule("SRV803", "checkpoint-needs", role=Role.INFO, severity=Severity.INFO)
def checkpoint_needs(checkpoint: Checkpoint) -> Iterator[Found | RuledOut]:
    """What a checkpoint wants of an engine, that is easily missed."""
    needs = []
    if checkpoint.architecture in _HYBRID:
        needs.append(
            "SGLang with speculative decoding: --mamba-radix-cache-strategy extra_buffer (before 0.5.14 "
            "--mamba-scheduler-strategy)"
        )
        needs.append("text alone: --language-model-only with vLLM, which leaves the vision part out")
    if checkpoint.quantisation and checkpoint.quantisation.method in ("awq", "awq_marlin"):
        needs.append("no --quantization: engines read AWQ from the configuration")
    for text in needs:
        yield Found(checkpoint.architecture or "checkpoint", text, (checkpoint.quote,), Confidence.CERTAIN)
