"""SRV013: a layer that the ignore list names, or misses, fails on its tensors."""

from collections.abc import Iterator

from qops.data.messages import model
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV013",
    "nvfp4-ignore-list-shape-mismatch",
    explains=("engine-core-failed", "job-failed"),
    fix=(
        Fix(
            "make the checkpoint's list and its tensors agree: a layer with scales must not be in `exclude_modules` / "
            "`ignore`, one without them must be (`mtp.fc` and `lm_head` are the usual ones)"
        ),
    ),
)
def nvfp4_ignore_list_shape_mismatch(logs: Logs) -> Iterator[Found | RuledOut]:
    """A layer that the ignore list names, or misses, fails on its tensors."""
    named = logs.find(model.NO_PARAMETER)
    shapes = logs.find(model.SHAPE)
    fp4, layers = logs.find(model.NVFP4), logs.find(model.GDN_LAYERS)
    # The draft head is the usual victim, but it asserts much else too: only while weights are read does it count.
    if not layers and logs.find(model.WEIGHT_LOADING):
        layers = logs.find(model.DRAFT_HEAD)
    if named:
        name = named[0].groups.get("name", "a scale")
        yield Found(
            subject="checkpoint",
            message=f"{name} is in the checkpoint and no such parameter is at run time: lists and tensors disagree",
            evidence=quotes(named),
            confidence=Confidence.LIKELY,
        )
    elif shapes and fp4 and layers:
        yield Found(
            subject="checkpoint",
            message="a layer of an NVFP4 checkpoint does not have the shape that its quantisation gives it",
            evidence=(*quotes(shapes, 2), *quotes(layers, 1), *quotes(fp4, 1)),
            confidence=Confidence.LIKELY,
        )
