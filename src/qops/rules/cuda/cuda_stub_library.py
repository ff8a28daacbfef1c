"""CUD004: the link-time stub of libcuda is loaded in place of the driver's."""

from collections.abc import Iterator

from qops.data.messages import cuda
from qops.derive.cuda_compat import printed, stub
from qops.evidence.message import Logs, quotes
from qops.evidence.process import CudaLibraries, CudaResults, Environment
from qops.rule import Confidence, Fix, Found, rule

STUB = 34  # cudaErrorStubLibrary, driver_types.h


@rule(
    "CUD004",
    "cuda-stub-library",
    explains=("cuda-error", "no-visible-gpu", "driver-too-old-for-image"),
    fix=(
        Fix(
            "take the stubs folder out of the loader's path; it serves the linker only",
            commands=("ldconfig -p | grep libcuda.so", "env | grep LD_LIBRARY_PATH"),
        ),
    ),
)
def cuda_stub_library(
    logs: Logs, results: CudaResults | None, libraries: CudaLibraries | None, environment: Environment | None
) -> Iterator[Found]:
    """The link-time stub of libcuda is loaded in place of the driver's."""
    text, numbers = logs.find(cuda.STUB_LIBRARY), printed(results, STUB)
    if not text and not numbers:
        return
    paths = [v for v in environment.get("LD_LIBRARY_PATH") if "/stubs" in v.value] if environment else []
    found = stub(libraries)
    where = tuple(v.quote for v in paths[:1]) or quotes(logs.find(cuda.STUB_PATH), 1)
    yield Found(
        subject=paths[0].owner if paths else "process",
        message="CUDA answers 34: the libcuda that was loaded is the stub"
        + (f", and LD_LIBRARY_PATH names {paths[0].value}" if paths else ""),
        evidence=(*quotes(text, 2), *numbers, *where, *((found.quote,) if found and not where else ())),
        confidence=Confidence.CERTAIN if text or where or found else Confidence.LIKELY,
    )
