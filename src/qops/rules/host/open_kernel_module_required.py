"""HST050: this GPU works with the open kernel module only, and the closed one is installed."""

from collections.abc import Iterator

from qops.data.messages import device, system
from qops.evidence.gpu import DriverModule
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, rule


@rule(
    "HST050",
    "open-kernel-module-required",
    explains=("nvml-failed", "no-visible-gpu", "cuda-error", "kernel-upgrade-no-module"),
    fix=(
        Fix(
            "install the open flavour of the driver (`-open` package, or `-m=kernel-open`) and reboot",
            commands=("modinfo -F license nvidia", "cat /proc/driver/nvidia/version"),
            needs_reboot=True,
        ),
    ),
)
def open_kernel_module_required(logs: Logs, module: DriverModule | None) -> Iterator[Found]:
    """This GPU works with the open kernel module only, and the closed one is installed."""
    hits = logs.find(device.NEEDS_OPEN_MODULE)
    if not hits:
        return
    yield Found(
        subject="host",
        message="this GPU needs the open kernel module, and the closed one"
        + (f" ({module.version})" if module and module.open_kernel is False else "")
        + " is loaded",
        evidence=(*quotes(hits, 2), *quotes(logs.find(system.NO_DEVICES, system.DRIVER_UNREACHABLE), 1)),
        confidence=Confidence.CERTAIN,
    )
