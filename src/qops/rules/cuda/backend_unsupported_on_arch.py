"""CUD011: a backend was picked that this architecture does not have."""

import re
from collections.abc import Iterator

from qops.data.messages import backend
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule

# A line that says what is done instead is no failure.
FALLS_BACK = re.compile(
    r"fall(?:s|ing)? ?back|fallback|using .{1,60} instead|will (?:use|default)|not selected|skipping", re.I
)
RAISED = re.compile(r"\w+(?:Error|Exception): |Aborting")  # a program gives up, rather than choosing
NAMED = re.compile(
    r"trtllm|TllmGen|FlashAttention|FlashMLA|FlashInfer|deep_?gemm|cutlass|cudnn|marlin|machete|FA ?[234]\b|triton",
    re.I,
)


@rule(
    "CUD011",
    "backend-unsupported-on-arch",
    explains=("cuda-error",),
    fix=(
        Fix(
            "name a backend that this architecture has (`--attention-backend`, `--moe-backend`)",
            commands=("nvidia-smi --query-gpu=name,compute_cap --format=csv",),
        ),
    ),
)
def backend_unsupported_on_arch(logs: Logs, engines: EngineLogs | None) -> Iterator[Found | RuledOut]:
    """A backend was picked that this architecture does not have."""
    hits = tuple(h for h in logs.find(backend.ARCH_UNSUPPORTED) if not FALLS_BACK.search(h.quote.text))
    if not hits:
        return
    ready = next((e for e in engines.logs if e.ready), None) if engines else None
    if ready and not any(RAISED.search(h.quote.text) for h in hits):
        yield RuledOut("the engine went on without that backend and serves", (ready.quote,))
        return
    named = next((m.group() for h in hits if (m := NAMED.search(h.quote.text))), "")
    yield Found(
        subject=named or "backend",
        message=f"{named or 'the backend that was picked'} does not support this GPU's architecture",
        evidence=quotes(hits, 3),
        confidence=Confidence.CERTAIN if named else Confidence.LIKELY,
    )
