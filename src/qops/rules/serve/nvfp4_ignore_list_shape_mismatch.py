"""SRV013: a layer that the ignore list names, or misses, fails on its tensors."""

import re
from collections.abc import Iterator, Sequence

from qops.data.messages import model
from qops.evidence.message import Hit, Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule

_SHAPE = re.compile(r"Size\(\[(\d+(?:, ?\d+){0,4})\]\)")
_VISION = tuple(str(4304 >> k) for k in range(4))  # width of a SigLIP tower's layers, whole and split over ranks
_TOGETHER = 3  # lines: an assertion prints its two shapes on lines of their own


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
    packed = _packed(shapes) if fp4 else ()
    vision = [h for h in logs.find(model.MARLIN_TILE) if h.groups["size"] in _VISION] if fp4 else []
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
    elif packed:
        yield Found(
            subject="checkpoint",
            message="one side of a tensor is twice what the run time expects: two values of NVFP4 lie in a byte, so a "
            "layer is built as NVFP4 that the checkpoint holds in 16 bits, or the other way round",
            evidence=(*quotes(packed, 2), *quotes(fp4, 1)),
            confidence=Confidence.LIKELY,
        )
    elif vision:
        yield Found(
            subject="checkpoint",
            message="a layer of the vision tower is read as NVFP4, and its width does not fit the kernel: the ignore "
            "list misses the tower",
            evidence=(*quotes(vision, 1), *quotes(fp4, 1)),
            confidence=Confidence.LIKELY,
        )


def _packed(shapes: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the hits, at most two, whose two shapes differ in one side only, by a factor of two."""
    for first in shapes:
        near = [
            h
            for h in shapes
            if h.quote.source == first.quote.source and 0 <= h.quote.line - first.quote.line < _TOGETHER
        ]
        sizes = [tuple(map(int, m.split(","))) for h in near for m in _SHAPE.findall(h.quote.text)]
        if len(sizes) == 2 and len(sizes[0]) == len(sizes[1]):
            factors = sorted(max(a, b) / max(1, min(a, b)) for a, b in zip(*sizes, strict=True))
            if factors[-1] == 2 and factors[:-1] == [1] * (len(factors) - 1):
                return tuple(h for h in near if _SHAPE.search(h.quote.text))
    return ()
