"""CUD012: a backend runs but returns wrong numbers on this architecture."""

from collections.abc import Iterator

from qops.data.messages import cuda
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, rule


@rule(
    "CUD012",
    "backend-silent-garbage-on-arch",
    explains=("backend-unsupported-on-arch", "cuda-error"),
    fix=(
        Fix("use another backend for this operation (for NVFP4, `marlin` is the conservative one)", kind="workaround"),
        Fix("update the kernel library to a version that lists this architecture as tested"),
    ),
)
def backend_silent_garbage_on_arch(logs: Logs) -> Iterator[Found]:
    """A backend runs but returns wrong numbers on this architecture."""
    hits = logs.find(cuda.BACKEND_GARBAGE)
    if not hits:
        return
    backends = ", ".join(dict.fromkeys(h.groups["backend"] for h in hits))
    others = logs.find(cuda.ARCH_UNSUPPORTED)
    yield Found(
        subject=backends,
        message=f"{backends} gives zeros, NaN or wrong values and reports no error"
        + ("; other backends refuse this architecture" if others else ""),
        evidence=(*quotes(hits, 3), *quotes(others, 1)),
        confidence=Confidence.CERTAIN if others else Confidence.LIKELY,
    )
