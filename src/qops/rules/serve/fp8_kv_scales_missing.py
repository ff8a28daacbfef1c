"""SRV014: the KV cache is FP8 and the checkpoint has no scales for it."""

from collections.abc import Iterator

from qops.data.messages import model
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, Severity, rule


@rule(
    "SRV014",
    "fp8-kv-scales-missing",
    severity=Severity.WARNING,
    fix=(
        Fix("use a checkpoint with calibrated k and v scales"),
        Fix("keep the KV cache in 16 bits: `--kv-cache-dtype auto`", kind="workaround", risk="half as much context"),
    ),
)
def fp8_kv_scales_missing(logs: Logs) -> Iterator[Found | RuledOut]:
    """The KV cache is FP8 and the checkpoint has no scales for it."""
    garbage = logs.find(model.GARBAGE)
    # The note is printed for every FP8 cache, also for one that has scales: alone it says nothing.
    hits = logs.find(model.KV_SCALES) or (logs.find(model.KV_FP8_NOTE) if garbage else ())
    if hits:
        yield Found(
            subject="engine",
            message="FP8 KV cache with a scale of 1.0; harmless on most models, wrong numbers on some",
            evidence=(*quotes(hits, 2), *quotes(garbage, 1)),
            confidence=Confidence.LIKELY if garbage else Confidence.POSSIBLE,
        )
