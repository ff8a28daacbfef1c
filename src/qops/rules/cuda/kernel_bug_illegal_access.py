"""CUD014: a kernel touched memory that is not its own, and nothing points at the hardware."""

from collections.abc import Iterator

from qops.data.messages import cuda, kernel
from qops.derive.cuda_compat import printed
from qops.derive.hardware_errors import hardware_errors
from qops.evidence.message import Logs, quotes
from qops.evidence.process import CudaResults
from qops.rule import Confidence, Fix, Found, RuledOut, rule

ILLEGAL = 700  # cudaErrorIllegalAddress, driver_types.h
FAULTS = ("13", "31")  # Xid: graphics exception, page fault


@rule(
    "CUD014",
    "kernel-bug-illegal-access",
    explains=("cuda-error", "xid-event", "gpu-needs-reset"),
    fix=(
        Fix(
            "find the kernel: run once with CUDA_LAUNCH_BLOCKING=1, then use another backend or version for it",
            commands=("export CUDA_LAUNCH_BLOCKING=1",),
        ),
    ),
)
def kernel_bug_illegal_access(logs: Logs, results: CudaResults | None) -> Iterator[Found | RuledOut]:
    """A kernel touched memory that is not its own, and nothing points at the hardware."""
    said = (*quotes(logs.find(cuda.ILLEGAL_ACCESS), 2), *printed(results, ILLEGAL))
    # The driver says it too: a page fault with the kind of access, or an exception for an address.
    addressed = logs.find(kernel.BAD_ADDRESS)
    if not said and not addressed:
        return
    hardware = hardware_errors(logs)
    if hardware:
        yield RuledOut("the hardware reported an error of its own", quotes(hardware, 2))
        return
    faults = [h for h in logs.find(kernel.XID_PROGRAM) if h.groups["code"] in FAULTS]
    failed = logs.find(cuda.CUDA_ERROR) if not said else ()
    who = next(
        (f"{h.groups['name']} (pid {h.groups['pid']})" for h in faults if {"pid", "name"} <= h.groups.keys()), ""
    )
    yield Found(
        subject=who or "process",
        message="a kernel touched memory that is not its own"
        + (f", and the driver logged Xid {faults[0].groups['code']}" if faults else "")
        + "; no sign of a hardware error was seen",
        evidence=(*quotes(faults or addressed, 2), *said, *quotes(failed, 1)),
        confidence=Confidence.LIKELY if (faults or addressed) and (said or failed) else Confidence.POSSIBLE,
    )
