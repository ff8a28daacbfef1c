"""SRV106: the configuration promises an FP8 KV cache, and the files hold no scales for it."""

from collections.abc import Iterator

from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "SRV106",
    "checkpoint-kv-scales-missing",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    explains=("fp8-kv-scales-missing",),
    fix=(
        Fix(
            "keep the KV cache in 16 bits: `--kv-cache-dtype bfloat16`", kind="workaround", risk="half as much context"
        ),
        Fix("take a conversion with k_scale and v_scale tensors"),
    ),
)
def checkpoint_kv_scales_missing(checkpoint: Checkpoint) -> Iterator[Found | RuledOut]:
    """The configuration promises an FP8 KV cache, and the files hold no scales for it."""
    if checkpoint.quantisation is None or not checkpoint.quantisation.kv or not checkpoint.weights:
        return
    if checkpoint.kv_scales:
        yield RuledOut(f"{checkpoint.kv_scales} tensors hold scales of the KV cache", (checkpoint.quote,))
    elif not checkpoint.broken:
        yield Found(
            checkpoint.folder,
            "its configuration keeps the KV cache in FP8, and no k_scale or v_scale is in the files: engines take 1.0",
            (checkpoint.quote,),
            Confidence.LIKELY,
        )
