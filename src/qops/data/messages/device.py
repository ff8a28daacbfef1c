"""Messages about a GPU as a device: its place, its recovery, and what DCGM says of its health."""

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
NEEDS_OPEN_MODULE = Message(
    "kernel-needs-open-module",
    r"requires use of (?:the )?NVIDIA open kernel modules",
    ("NVIDIA open kernel modules",),
    "driver 570 and later (proprietary flavour) on Blackwell",
)
GPU_UNSUPPORTED = Message(
    "kernel-gpu-unsupported",
    r"installed in this system is not supported by the|is not supported by the NVIDIA (?P<driver>[\d.]{3,16}) driver release",
    ("is not supported by the",),
    "open-gpu-kernel-modules nv.c and the closed module, 390 to 580",
)
AER_UNCORRECTABLE = Message(
    "kernel-aer-uncorrectable",
    r"severity=Uncorrect(?:able|ed)|(?:AER|PCIe Bus Error): (?:Multiple )?Uncorrect(?:able|ed)\b"
    r"|AER: can't recover \(no error_detected callback\)|AER: device recovery failed",
    ("Uncorrect", "AER: can't recover", "AER: device recovery failed"),
    "Linux drivers/pci/pcie/aer.c, err.c",
)
INSTALLER_FAILED = Message(
    "system-installer-failed",
    r"Unable to load the kernel module 'nvidia[\w-]{0,20}\.ko'",
    ("Unable to load the kernel module",),
    "nvidia-installer 384 to 570; NVIDIA/gpu-driver-container#44",
)
DRIVER_LOADS = Message(
    "kernel-driver-loads",
    r"NVRM: loading NVIDIA UNIX|nvidia-uvm: Loaded the UVM driver",
    ("NVRM: loading NVIDIA", "Loaded the UVM driver"),
    "open-gpu-kernel-modules nv.c, uvm.c",
)
INFOROM_CORRUPT = Message(
    "device-inforom-corrupt",
    r"infoROM is corrupted at gpu|corrupt InfoROM has been detected",
    ("infoROM is corrupted", "corrupt InfoROM"),
    "nvidia-smi 418 to 580; DCGM dcgmlib/dcgm_errors.h",
)
DCGM_THERMAL = Message(
    "dcgm-thermal",
    r"Detected clock(?:s event| throttling) due to thermal violation in GPU (?P<gpu>\d+)"
    r"|thermal violations totaling (?!0\.0 )[\d.]+ seconds",
    ("due to thermal violation", "thermal violations totaling"),
    "DCGM dcgmlib/dcgm_errors.h, 2.x to 4.x",
)
DCGM_MEMORY = Message(
    "dcgm-memory",
    r"Detected [1-9]\d* volatile double-bit ECC error|double-bit ECC error has occ?ur+ed on GPU \d+"
    r"|GPU \d+ ha[sd] uncorrectable memory errors and (?:row remapping|\d+ rows were remapped)"
    r"|uncontained error \(XID 95\)|retired pages due to DBEs have been detected"
    r"|Pending page retirements together with a DBE|Found [1-9]\d* faulty memory elements on GPU",
    (
        "double-bit ECC error",
        "uncorrectable memory errors and",
        "uncontained error",
        "retired pages due to DBEs",
        "Pending page retirements",
        "faulty memory elements",
    ),
    "DCGM dcgmlib/dcgm_errors.h, 2.x to 4.x",
)
DCGM_LINK = Message(
    "dcgm-link",
    r"GPU (?P<gpu>\d+) is running at PCI link (?P<what>generation|width) (?P<now>\d+)X?, which is below the\s+"
    r"minimum allowed link \w+ of (?P<least>\d+)",
    ("is running at PCI link",),
    "DCGM dcgmlib/dcgm_errors.h, 2.x to 4.x",
)
NVLINK_UNCORRECTABLE = Message(
    "device-nvlink-uncorrectable",
    r"uncorrectable NVLink error detected during the execution|\bcudaErrorNvlinkUncorrectable\b"
    r"|CUDA_ERROR_NVLINK_UNCORRECTABLE",
    ("uncorrectable NVLink error", "NvlinkUncorrectable", "NVLINK_UNCORRECTABLE"),
    "CUDA 220: MIC-DKFZ/nnUNet#1519, NVIDIA/open-gpu-kernel-modules#1355",
)
HMM_OOPS = Message(
    "device-hmm-oops",
    r"\bRIP: (?:0010:)?(?P<function>uvm_hmm_\w+)\+0x\w+/0x\w+ \[nvidia_uvm\]",
    ("uvm_hmm_",),
    "Linux prints where it failed: NVIDIA/open-gpu-kernel-modules#1082, #1110 (595)",
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
