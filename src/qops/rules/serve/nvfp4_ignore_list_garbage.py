"""SRV012: the quantisation lists miss the fused runtime names, so that layers are read as NVFP4: garbage comes out."""

from collections.abc import Iterator

from qops.data.messages import model
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


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
    named = [h for h in listed if any(h.quote == g.quote for g in layers)]
    if not fp4 or not named or logs.find(model.NO_PARAMETER):
        return
    garbage = logs.find(model.GARBAGE)
    yield Found(
        subject="checkpoint",
        message="an NVFP4 checkpoint leaves linear-attention layers unquantised by names that the runtime fuses",
        evidence=(*quotes(fp4, 2), *quotes(named, 2), *quotes(garbage, 1)),
        confidence=Confidence.LIKELY if garbage else Confidence.POSSIBLE,
    )
