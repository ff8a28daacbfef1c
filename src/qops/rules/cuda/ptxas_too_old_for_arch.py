"""CUD010: the compiler or assembler that is used does not know this GPU."""

import re
from collections.abc import Iterator

from qops.data.messages import backend
from qops.evidence.gpu import Gpus
from qops.evidence.message import Hit, Logs, quotes
from qops.pattern import lazy
from qops.rule import Confidence, Fix, Found, RuledOut, rule

NAMES = ("arch", "gpu", "target", "ptx", "torch")
OLDEST = 75  # what CUDA 13 still compiles for
OLD = lazy(r"GTX (?:7|9|10)\d\d\b|Tesla [KMP]\d|\b[PV]100\b|TITAN (?:X|V)|Quadro [KMPG][PV]?\d")


@rule(
    "CUD010",
    "ptxas-too-old-for-arch",
    explains=("cuda-error", "jit-compiler-missing", "backend-unsupported-on-arch"),
    fix=(
        Fix(
            "let Triton use the assembler of a toolkit that knows this GPU (12.8 for sm_120, 12.9 or 13.0 for sm_121)",
            commands=("/usr/local/cuda/bin/ptxas --version", "export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas"),
        ),
        Fix("use an image whose torch and Triton bring a newer assembler"),
    ),
)
def ptxas_too_old_for_arch(logs: Logs, gpus: Gpus | None) -> Iterator[Found | RuledOut]:
    """The compiler or assembler that is used does not know this GPU."""
    hits = logs.find(backend.ASSEMBLER_ARCH)
    if not hits:
        return
    if old := [h for h in hits if _dropped(h, gpus)]:
        yield RuledOut("newer compilers dropped this old architecture: a still newer one does not help", quotes(old, 1))
    hits = tuple(h for h in hits if h not in old)
    if not hits:
        return
    arch = next((h.groups[n] for h in hits for n in NAMES if n in h.groups), "")
    isa = next((h.groups[n] for h in hits for n in ("isa", "asks") if n in h.groups), "")
    needs = next((h.groups["needs"] for h in hits if "needs" in h.groups), "")
    yield Found(
        subject="compiler",
        message=f"the assembler or compiler does not know {arch or (f'PTX {isa}' if isa else 'this architecture')}"
        + (f"; it needs CUDA {needs} or later" if needs else ""),
        evidence=quotes(hits, 3),
        confidence=Confidence.CERTAIN if arch or needs or isa else Confidence.LIKELY,
    )


def _dropped(hit: Hit, gpus: Gpus | None) -> bool:
    """Return whether what `hit` asks for, or else every GPU, is older than what compilers of today know."""
    named = next((hit.groups[n] for n in NAMES if n in hit.groups), "")
    if found := re.fullmatch(r"(?:compute|sm)_(\d{2,3})[af]?", named):
        return int(found[1]) < OLDEST
    if hit.groups or not gpus or not gpus.gpus:
        return False
    return all(OLD.search(g.name) for g in gpus.gpus)
