"""SRV001: the context length does not fit the KV memory that is left."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "SRV001",
    "kv-cache-too-small",
    explains=("engine-core-failed", "job-failed"),
    fix=(
        Fix("serve a shorter context: `--max-model-len` (vLLM) or `--context-length` (SGLang)"),
        Fix("keep the cache in 8 bits: `--kv-cache-dtype fp8`", risk="costs accuracy on some models"),
        Fix(
            "raise `--gpu-memory-utilization` or `--mem-fraction-static`, if the card is not full already",
            kind="workaround",
        ),
    ),
)
def kv_cache_too_small(logs: Logs) -> Iterator[Found | RuledOut]:
    """The context length does not fit the KV memory that is left."""
    hits = logs.find(engine.KV_TOO_SMALL)
    if not hits:
        return
    wanted = next((h.groups["wanted"] for h in hits if "wanted" in h.groups), "")
    fits = next((h.groups["fits"] for h in hits if "fits" in h.groups), "")
    text = f"a context of {wanted} tokens" if wanted else "the context length"
    yield Found(
        subject="engine",
        message=f"{text} needs more KV cache than is left" + (f"; about {fits} tokens fit" if fits else ""),
        evidence=quotes(hits),
        confidence=Confidence.CERTAIN,
    )
