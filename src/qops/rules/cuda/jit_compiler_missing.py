"""CUD013: a kernel must be compiled, and nvcc, ninja or a C compiler is absent."""

import re
from collections.abc import Iterator

from qops.data.messages import cuda
from qops.evidence.engine import EngineLogs
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule

RAISED = re.compile(r"\w+(?:Error|Exception)(?:: |\b.*No such file)")  # a program gives up
TOOLS = (("ninja", "ninja"), ("C compiler", "gcc"), ("'gcc'", "gcc"), ("Python.h", "the Python headers"))


@rule(
    "CUD013",
    "jit-compiler-missing",
    explains=("cuda-error",),
    fix=(
        Fix(
            "install what is missing in the image (a CUDA toolkit with nvcc, ninja, a C compiler), or prebuilt kernels",
            commands=('command -v nvcc ninja gcc; echo "CUDA_HOME=$CUDA_HOME"',),
        ),
    ),
)
def jit_compiler_missing(logs: Logs, engines: EngineLogs | None) -> Iterator[Found | RuledOut]:
    """A kernel must be compiled, and nvcc, ninja or a C compiler is absent."""
    hits = logs.find(cuda.COMPILER_MISSING)
    if not hits:
        return
    ready = next((e for e in engines.logs if e.ready), None) if engines else None
    if ready and not any(RAISED.search(h.quote.text) for h in hits):
        yield RuledOut("the engine serves without compiling", (ready.quote,))
        return
    text = hits[0].quote.text.lower()
    tool = next((name for sign, name in TOOLS if sign.lower() in text), "nvcc")
    yield Found(
        subject="image",
        message=f"a kernel must be compiled at run time and {tool} is not there",
        evidence=quotes(hits, 3),
        confidence=Confidence.CERTAIN,
    )
