"""SRV104: the lists of a checkpoint and its stored layers say different things about what is quantised."""

from collections.abc import Iterator

from qops.derive.checkpoint import Disagreement, listed_and_quantised, plain_and_not_listed
from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "SRV104",
    "checkpoint-lists-disagree",
    explains=("nvfp4-ignore-list-shape-mismatch", "nvfp4-ignore-list-garbage", "engine-core-failed"),
    fix=(
        Fix(
            "make the lists and the tensors agree, in config.json and in hf_quant_config.json: a layer with scales is "
            "in no list, one without them is in the list",
            variable="model_store_models",
            tag="model_store",
        ),
        Fix("take another conversion of the model, or a newer engine", kind="workaround"),
    ),
)
def checkpoint_lists_disagree(checkpoint: Checkpoint) -> Iterator[Found | RuledOut]:
    """The lists of a checkpoint and its stored layers say different things about what is quantised."""
    for one in listed_and_quantised(checkpoint):
        yield Found(
            _subject(one),
            f"{one.source} leaves out {_named(one)}, and the files hold scales for {_them(one)}: the engine makes no "
            "place for these",
            (checkpoint.quote,),
            Confidence.LIKELY,
        )
    for one in plain_and_not_listed(checkpoint):
        older = "; newer engines know these names and load them all the same" if one.lenient else ""
        yield Found(
            _subject(one),
            f"{_named(one)} {'is' if one.count == 1 else 'are'} stored without scales, and no list leaves {_them(one)} "
            f"out: the engine expects packed weights{older}",
            (checkpoint.quote,),
            Confidence.POSSIBLE if one.lenient else Confidence.LIKELY,
            severity=Severity.WARNING if one.lenient else None,
            role=Role.CONTRIBUTING if one.lenient else None,
        )


def _subject(one: Disagreement) -> str:
    return one.layers[0] if one.count == 1 else f"{one.count} layers"


def _named(one: Disagreement) -> str:
    more = one.count - len(one.layers)
    return ", ".join(one.layers) + (f" and {more} more" if more else "")


def _them(one: Disagreement) -> str:
    return "it" if one.count == 1 else "them"
