"""SRV105: parts that an engine fuses to one layer are stored, or targeted, in different ways."""

from collections.abc import Iterator
from itertools import islice

from qops.derive.checkpoint import mixed, unfused_targets
from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV105",
    "checkpoint-fused-parts-differ",
    explains=("nvfp4-ignore-list-garbage", "nvfp4-ignore-list-shape-mismatch", "backend-silent-garbage-on-arch"),
    fix=(
        Fix(
            "name the fused layer in the scheme's targets as well, such as `re:.*linear_attn.in_proj_qkvz$`, and keep "
            "all parts of a fused layer in one scheme"
        ),
        Fix("take another conversion of the model", kind="workaround"),
    ),
)
def checkpoint_fused_parts_differ(checkpoint: Checkpoint) -> Iterator[Found | RuledOut]:
    """Parts that an engine fuses to one layer are stored, or targeted, in different ways."""
    for fused, quantised, plain in islice(mixed(checkpoint), 3):
        yield Found(
            fused,
            f"engines make one layer of {', '.join((*quantised, *plain))}, and {', '.join(quantised)} is quantised "
            f"where {', '.join(plain)} is not: they refuse it (some but not all shards are quantized)",
            (checkpoint.quote,),
            Confidence.LIKELY,
        )
    for scheme, fused, other in unfused_targets(checkpoint):
        yield Found(
            fused,
            f"the targets of {scheme} name its parts and not {fused}, which engines choose the scheme by: it falls to "
            f"{other}, and comes out as garbage without an error",
            (checkpoint.quote,),
            Confidence.LIKELY,
        )
