"""HST053: the installed driver branch does not know this GPU, or does not know it any more."""

from collections.abc import Iterator

from qops.data.messages import device, system
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, rule


@rule(
    "HST053",
    "gpu-not-supported-by-driver",
    explains=("nvml-failed", "no-visible-gpu", "cuda-error", "kernel-upgrade-no-module", "nouveau-conflict"),
    fix=(
        Fix(
            "install a driver branch that supports this GPU",
            commands=("lspci -nn -d 10de:", "modinfo -F version nvidia"),
            needs_reboot=True,
        ),
    ),
)
def gpu_not_supported_by_driver(logs: Logs) -> Iterator[Found]:
    """The installed driver branch does not support this GPU."""
    hits = logs.find(device.GPU_UNSUPPORTED)
    if hits:
        driver = next((h.groups["driver"] for h in hits if "driver" in h.groups), "")
        yield Found(
            subject="GPU",
            message=f"the driver{f' {driver}' if driver else ''} does not support this GPU",
            evidence=(*quotes(hits, 2), *quotes(logs.find(system.DRIVER_UNREACHABLE, system.NO_DEVICES), 1)),
            confidence=Confidence.CERTAIN,
        )
