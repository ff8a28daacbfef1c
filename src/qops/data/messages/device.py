"""Messages of the kernel and of the NVIDIA module about a GPU as a device: its place, its recovery."""

from qops.evidence.message import Message

BAR_INVALID = Message(
    "kernel-bar-invalid",
    r"PCI I/O region assigned to your NVIDIA device is invalid|NVRM: BAR(?P<bar>\d) is 0M @ 0x0*\b(?: \(PCI:(?P<bus>[0-9a-f:.]+)\))?"
    r"|NVRM: Fatal Error while attempting to resize PCIe BARs",
    ("region assigned to your NVIDIA device", "is 0M @ 0x", "attempting to resize PCIe BARs"),
    "open-gpu-kernel-modules kernel-open/nvidia/nv-pci.c, 515 to 595",
)
BAR_NO_SPACE = Message(
    "kernel-bar-no-space",
    r"\bBAR \d\b.{0,60}(?:no space|failed to assign|can't assign)",
    ("no space", "failed to assign", "can't assign"),
    "Linux drivers/pci/setup-res.c, before and since 6.9",
)
RECOVERY_ASKED = Message(
    "kernel-recovery-asked",
    r"(?:\(PCI:(?P<bus>[0-9a-f:.]{7,16})\): 154, )?GPU recovery action changed from 0x\w+ \([^)]*\) to 0x[1-9a-f]\w* \((?P<action>[\w ]{2,40})\)",
    ("recovery action changed",),
    "driver 570 to 610: the text of Xid 154",
)
GPU_PAGE_FAULT = Message(
    "iommu-gpu-page-fault",
    r"nvidia (?P<gpu>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): AMD-Vi: Event logged \[IO_PAGE_FAULT",
    ("IO_PAGE_FAULT",),
    "linux drivers/iommu/amd/iommu.c amd_iommu_report_page_fault: the device's driver stands before it",
)
DEVICE_PAGE_FAULT = Message(
    "iommu-device-page-fault",
    r"AMD-Vi: Event logged \[IO_PAGE_FAULT device=(?:[0-9a-f]{4}:)?(?P<amd>[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
    r"|DMAR: ?\[DMA (?:Read|Write)[^\]]{0,20}\] Request device \[(?:[0-9a-f]{4}:)?(?P<intel>[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\]",
    ("IO_PAGE_FAULT device=", "[DMA "),
    "linux drivers/iommu/amd/iommu.c and drivers/iommu/intel/dmar.c: whose device it is, the address says",
)
