"""HST902: NVML or nvidia-smi cannot reach the driver."""

from collections.abc import Iterator

from qops.data.messages import device, system
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, rule


@rule(
    "HST902",
    "nvml-failed",
    role=Role.SYMPTOM,
    fix=(
        Fix(
            "look at the module and the kernel's log",
            commands=("lsmod | grep -E '^(nvidia|nouveau)'", "journalctl -k -b --no-pager --grep NVRM"),
        ),
    ),
)
def nvml_failed(logs: Logs) -> Iterator[Found]:
    """NVML or nvidia-smi cannot reach the driver."""
    hits = logs.find(
        system.DRIVER_UNREACHABLE,
        system.NVML_FAILED,
        system.NVML_UNKNOWN,
        system.NO_DEVICES,
        system.ADAPTER_FAILED,
        system.GPU_IN_ERROR,
        system.LIBRARY_LOAD_FAILED,
        device.INSTALLER_FAILED,
    )
    if hits:
        yield Found(
            subject="host",
            message="nvidia-smi or NVML cannot reach the driver or finds no GPU",
            evidence=quotes(hits, 3),
            confidence=Confidence.CERTAIN,
        )
