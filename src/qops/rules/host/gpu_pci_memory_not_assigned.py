"""HST022: the firmware, or a VM, gave a GPU no place in the address space for its memory."""

from collections.abc import Iterator

from qops.data.messages import device
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "HST022",
    "gpu-pci-memory-not-assigned",
    explains=("nvml-failed", "no-visible-gpu", "cuda-error", "kernel-upgrade-no-module", "program-failed"),
    fix=(
        Fix(
            "let the firmware place large PCI memory: Above 4G Decoding on, and Re-Size BAR as the board needs it; for "
            "a VM a larger 64-bit window of its firmware",
            commands=("journalctl -k -b --no-pager --grep 'BAR|NVRM'", "lspci -vv -d 10de: | grep -E 'NVIDIA|Region'"),
            needs_reboot=True,
        ),
        Fix("let the kernel place it anew at boot: pci=realloc", kind="workaround", needs_reboot=True),
    ),
)
def gpu_pci_memory_not_assigned(logs: Logs) -> Iterator[Found | RuledOut]:
    """The firmware, or a VM, gave a GPU no place in the address space for its memory."""
    # The kernel's own lines on BARs are also printed of devices that it then places elsewhere: the driver decides.
    said = logs.find(device.BAR_INVALID)
    if not said:
        return
    bus = next((h.groups["bus"] for h in said if "bus" in h.groups), "")
    bar = next((h.groups["bar"] for h in said if "bar" in h.groups), "")
    yield Found(
        subject=f"GPU {bus}" if bus else "GPU",
        message=f"the driver finds no address for its PCI memory{f' (BAR{bar})' if bar else ''} and leaves it alone",
        evidence=quotes((*said, *logs.find(device.BAR_NO_SPACE)), 4),
        confidence=Confidence.CERTAIN,
    )
