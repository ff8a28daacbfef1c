"""SRV107: most of a checkpoint that is not quantised is stored wider than its configuration says."""

from collections.abc import Iterator

from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule

STORED_AS = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}  # torch's names and those of safetensors
MOST = 0.5  # part of all bytes from which it is no matter of a few norms or biases


@rule(
    "SRV107",
    "checkpoint-dtype-differs",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix("give the dtype that is meant: `--dtype bfloat16`", kind="workaround"),
        Fix("take the checkpoint in the dtype that its configuration says, which loads in half the time"),
    ),
)
def checkpoint_dtype_differs(checkpoint: Checkpoint) -> Iterator[Found | RuledOut]:
    """Most of a checkpoint that is not quantised is stored in another dtype than its configuration says."""
    said = STORED_AS.get(checkpoint.dtype)
    whole = sum(checkpoint.stored.values())
    if said is None or checkpoint.quantisation is not None or not whole:
        return
    for dtype, size in checkpoint.stored.items():
        if dtype in STORED_AS.values() and dtype != said and size > MOST * whole:
            message = f"config.json says {checkpoint.dtype}, and {size / 1e9:.1f} of {whole / 1e9:.1f} GB are {dtype}"
            yield Found(checkpoint.folder, message, (checkpoint.quote,), Confidence.CERTAIN)
