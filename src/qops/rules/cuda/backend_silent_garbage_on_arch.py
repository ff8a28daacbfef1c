"""CUD012: a backend runs but returns wrong numbers on this architecture."""

from collections.abc import Iterator

from qops.data.messages import backend, model
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
    hits = logs.find(backend.BACKEND_GARBAGE)
    if not hits:
        yield from _garbage_beside_a_backend(logs)
        return
    backends = ", ".join(dict.fromkeys(h.groups["backend"] for h in hits))
    others = logs.find(backend.ARCH_UNSUPPORTED)
    yield Found(
        subject=backends,
        message=f"{backends} gives zeros, NaN or wrong values and reports no error"
        + ("; other backends refuse this architecture" if others else ""),
        evidence=(*quotes(hits, 3), *quotes(others, 1)),
        confidence=Confidence.CERTAIN if others else Confidence.LIKELY,
    )


def _garbage_beside_a_backend(logs: Logs) -> Iterator[Found]:
    """Garbage came out, a low-precision backend was picked, and another one works or the board is one that few test."""
    garbage, picked = logs.find(model.GARBAGE), logs.find(backend.LOW_PRECISION_BACKEND)
    works, board = logs.find(backend.OTHER_BACKEND_WORKS), logs.find(backend.CONSUMER_BLACKWELL)
    if not garbage or not picked or not (works or board) or logs.find(model.IGNORE_LIST, model.KV_SCALES):
        return
    yield Found(
        subject="backend",
        message="the output is garbage without an error"
        + (", and another backend gives sound output" if works else ""),
        evidence=(*quotes(picked, 2), *quotes(garbage, 2), *quotes(works, 1), *quotes(board, 1)),
        confidence=Confidence.LIKELY if works else Confidence.POSSIBLE,
    )
