"""SRV012: the quantisation lists miss the fused runtime names, so that layers are read as NVFP4: garbage comes out."""

from collections.abc import Iterator

from qops.data.messages import model
from qops.evidence.message import Hit, Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule

LISTED = 40  # lines between the head of a list and a name in it


@rule(
    "SRV012",
    "nvfp4-ignore-list-garbage",
    explains=("backend-silent-garbage-on-arch",),
    fix=(
        Fix(
            "name the fused runtime layers (`in_proj_qkvz`, `in_proj_ba`, the gate half of `q_proj`) in the "
            "checkpoint's ignore list, or use a checkpoint that does"
        ),
    ),
)
def nvfp4_ignore_list_garbage(logs: Logs) -> Iterator[Found | RuledOut]:
    """The quantisation lists miss the fused runtime names: layers are read as NVFP4 and garbage comes out."""
    fp4, listed, layers = logs.find(model.NVFP4), logs.find(model.IGNORE_LIST), logs.find(model.GDN_LAYERS)
    garbage = logs.find(model.GARBAGE)
    named = [h for h in listed if any(_near(h, g, 0) for g in layers)]
    if not named and garbage:  # a list that is pasted with one name a line
        named = [h for h in listed if any(_near(h, g, LISTED) for g in layers)]
    if not fp4 or not named or logs.find(model.NO_PARAMETER):
        return
    yield Found(
        subject="checkpoint",
        message="an NVFP4 checkpoint leaves linear-attention layers unquantised by names that the runtime fuses",
        evidence=(*quotes(fp4, 2), *quotes(named, 2), *quotes(garbage, 1)),
        confidence=Confidence.LIKELY if garbage else Confidence.POSSIBLE,
    )


def _near(listed: Hit, layer: Hit, lines: int) -> bool:
    return listed.quote.source == layer.quote.source and abs(layer.quote.line - listed.quote.line) <= lines
