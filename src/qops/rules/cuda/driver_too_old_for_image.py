"""CUD001: the host's driver is older than the image's CUDA needs."""

from collections.abc import Iterator

from qops.data.drivers import cuda_name
from qops.data.messages import cuda, system
from qops.derive.cuda_compat import host_driver, printed
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.process import CudaResults
from qops.rule import Confidence, Fix, Found, RuledOut, rule

INSUFFICIENT = 35  # cudaErrorInsufficientDriver, driver_types.h


@rule(
    "CUD001",
    "driver-too-old-for-image",
    explains=("cuda-error", "no-visible-gpu", "nvml-failed"),
    fix=(
        Fix(
            "install a driver branch that runs the image's CUDA (13.x needs 580 or later, 12.x 525 or later)",
            commands=("cat /proc/driver/nvidia/version",),
            needs_reboot=True,
        ),
        Fix("use an image of a CUDA version that this driver runs", kind="workaround"),
    ),
)
def driver_too_old_for_image(
    logs: Logs, results: CudaResults | None, module: DriverModule | None, gpus: Gpus | None
) -> Iterator[Found | RuledOut]:
    """The host's driver is older than the image's CUDA needs."""
    gate = tuple(h for h in logs.find(cuda.IMAGE_REQUIREMENT) if h.groups["condition"].startswith(("cuda", "driver")))
    said = logs.find(cuda.DRIVER_TOO_OLD, cuda.CONTAINER_NEEDS_DRIVER)
    late = logs.find(cuda.UNSUPPORTED_PTX, cuda.NEWER_DRIVER_CALL)
    evidence = (*quotes((*gate, *said, *late)), *printed(results, INSUFFICIENT))
    if not evidence:
        return
    absent = logs.find(system.DRIVER_UNREACHABLE)
    if absent:
        yield RuledOut("the kernel module does not answer at all, so its age is not the question", quotes(absent, 1))
        return
    number = next((h.groups["found"] for h in said if "found" in h.groups), "")
    named = next((h.groups["driver"] for h in said if "driver" in h.groups), "") or host_driver(module, gpus)
    have = f"runs CUDA {cuda_name(int(number[:6]))} at most" if number else "is too old"
    if gate:
        have = f"does not meet the image's condition {gate[0].groups['condition']}"
    elif late and not said:
        have = "does not know code or calls of the newer CUDA in the image"
    yield Found(
        subject="host",
        message=f"the driver{f' {named}' if named else ''} {have}",
        evidence=evidence,
        confidence=Confidence.CERTAIN if number or gate or named else Confidence.LIKELY,
    )
