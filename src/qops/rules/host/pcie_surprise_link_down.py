"""HST012: the PCIe link to a GPU goes down without warning, as a rule by power management of the port."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.kernel import KernelCommandLine, KernelLog
from qops.evidence.message import Hit, Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, rule

SURPRISE_DOWN = 0x20  # PCI_ERR_UNC_SURPDN, Linux include/uapi/linux/pci_regs.h


@rule(
    "HST012",
    "pcie-surprise-link-down",
    explains=("gpu-fell-off-bus", "xid-event", "cuda-error", "gpu-needs-reset"),
    fix=(
        Fix(
            "keep the port's power management off: pcie_aspm=off pcie_port_pm=off on the kernel's command line",
            commands=("cat /proc/cmdline", "lspci -vv | grep -E '^[0-9a-f]|LnkCtl:|UESta:'"),
            needs_reboot=True,
        ),
        Fix("lock the link at a lower generation in the firmware; reseat the riser", kind="workaround"),
    ),
)
def pcie_surprise_link_down(logs: Logs, log: KernelLog | None, options: KernelCommandLine | None) -> Iterator[Found]:
    """The PCIe link to a GPU goes down without warning, as a rule by power management of the port."""
    hits = tuple(h for h in logs.find(kernel.SURPRISE_DOWN) if _bit(h))
    reports = tuple(a for a in log.aer if a.status is not None and a.status & SURPRISE_DOWN) if log else ()
    slot = logs.find(kernel.SLOT_LINK_DOWN)
    if not hits and not reports:
        if slot:
            # A card without power takes its link down too, so this alone does not say which came first.
            yield Found(
                subject="PCIe slot",
                message="the slot's link went down",
                evidence=quotes(slot, 2),
                confidence=Confidence.POSSIBLE,
                role=Role.CONTRIBUTING,
            )
        return
    off = quotes(logs.find(kernel.PORT_PM_OFF), 1)
    if options and options.value("pcie_port_pm") == "off" and options.value("pcie_aspm") == "off":
        off = (options.quote,)
    after = logs.find(kernel.XID_BUS, kernel.FELL_OFF_BUS)
    device = next((a.device for a in reports if a.device), "")
    yield Found(
        subject=f"port {device}" if device else "PCIe port",
        message="the PCIe link went down without warning (surprise down)"
        + (", and the GPU was lost with it" if after else "")
        + (", although port power management is off: suspect the riser, the slot or the power" if off else ""),
        evidence=(*quotes(hits, 2), *(a.quote for a in reports[:1] if not hits), *off, *quotes(after, 1)),
        confidence=Confidence.LIKELY if off else Confidence.CERTAIN,
    )


def _bit(hit: Hit) -> bool:
    status = hit.groups.get("status")
    return status is None or bool(int(status[-8:], 16) & SURPRISE_DOWN)
