"""CUD010: the compiler or assembler that is used does not know this GPU."""

from collections.abc import Iterator

from qops.data.messages import cuda
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, rule


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
def ptxas_too_old_for_arch(logs: Logs) -> Iterator[Found]:
    """The compiler or assembler that is used does not know this GPU."""
    hits = logs.find(cuda.ASSEMBLER_ARCH)
    if not hits:
        return
    names = ("arch", "gpu", "target", "ptx", "torch")
    arch = next((h.groups[n] for h in hits for n in names if n in h.groups), "")
    isa = next((h.groups["isa"] for h in hits if "isa" in h.groups), "")
    needs = next((h.groups["needs"] for h in hits if "needs" in h.groups), "")
    yield Found(
        subject="compiler",
        message=f"the assembler or compiler does not know {arch or (f'PTX {isa}' if isa else 'this architecture')}"
        + (f"; it needs CUDA {needs} or later" if needs else ""),
        evidence=quotes(hits, 3),
        confidence=Confidence.CERTAIN if arch or needs or isa else Confidence.LIKELY,
    )
