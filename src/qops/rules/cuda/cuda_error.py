"""CUD901: CUDA reported an error; a cause says why, or nothing seen does."""

from collections.abc import Iterator

from qops.data.messages import cuda
from qops.evidence.message import Logs, quotes
from qops.evidence.process import CudaResults
from qops.rule import Confidence, Fix, Found, Role, rule


@rule(
    "CUD901",
    "cuda-error",
    role=Role.SYMPTOM,
    fix=(Fix("collect what the causes need: `qops collect`, the kernel's log, and the whole log of the program"),),
)
def cuda_error(logs: Logs, results: CudaResults | None) -> Iterator[Found]:
    """CUDA reported an error; a cause says why, or nothing that was seen does."""
    hits = logs.find(
        cuda.CUDA_ERROR,
        cuda.NO_VISIBLE_GPU,
        cuda.STUB_LIBRARY,
        cuda.DRIVER_TOO_OLD,
        cuda.NEWER_DRIVER_CALL,
        cuda.UNSUPPORTED_PTX,
        cuda.SYSTEM_NOT_READY,
        cuda.DRIVER_MISMATCH,
        cuda.COMPAT_UNSUPPORTED,
        cuda.NO_KERNEL_IMAGE,
        cuda.ILLEGAL_ACCESS,
        cuda.ECC_UNCORRECTABLE,
        cuda.DEVICE_NOT_INFERRED,
    )
    numbers = tuple(r for r in results.results if r.code) if results else ()
    if not hits and not numbers:
        return
    yield Found(
        subject="process",
        message=f"CUDA answers {numbers[0].code}" if numbers and not hits else "CUDA reports an error",
        evidence=(*quotes(hits, 2), *(r.quote for r in numbers[:2])),
        confidence=Confidence.CERTAIN,
    )
