"""Messages of the kernel and of the NVIDIA module, wherever they are pasted."""

from qops.evidence.message import Message

_XID_LITERALS = ("Xid",)


def _xid(name: str, codes: str, origin: str) -> Message:
    """Make the message for some Xid codes.

    Forms: `NVRM: Xid (PCI:0000:01:00): 79, pid=…`, `NVRM: Xid (0000:01:00): 31, Ch …`, `Xid: 154, …`, `Xid 31 MMU …`,
    `Xid=48`, `Xid error 79`, and the prefix of a journal or of a sample's time before it.
    """
    pattern = (
        r"\bS?Xids?(?: error| code| event)?['\"]? {0,3}(?:\((?:PCI:)?(?P<bus>[0-9a-f]{4,8}:[0-9a-f]{2}(?::[0-9a-f]{2})?)"
        rf"[^)]{{0,20}}\))? {{0,3}}[:=]? {{0,3}}(?P<code>{codes})(?![\d.:-]\d|\d)"
        r"(?:,? pid='?(?P<pid>\d+)'?)?(?:, name=(?P<name>[^,]+))?"
    )
    return Message(name, pattern, _XID_LITERALS, origin)


XID_MEMORY = _xid("xid-memory", "48|64|94|95|140|171|172", "NVIDIA Xid catalogue; Linux driver nverror.h")
XID_REMAP = _xid("xid-remap", "63|92", "NVIDIA Xid catalogue")
XID_BUS = _xid("xid-bus", "79", "NVIDIA Xid catalogue; NVIDIA/open-gpu-kernel-modules#1045")
XID_GSP = _xid("xid-gsp", "119|120", "NVIDIA Xid catalogue; NVIDIA/open-gpu-kernel-modules#446")
XID_PROGRAM = _xid("xid-program", "13|31|32|43|69", "NVIDIA Xid catalogue; driver 580.159.04 (run)")
XID_ANY = _xid("xid-any", r"[1-9]\d{0,2}", "NVIDIA Xid catalogue")

BAD_ADDRESS = Message(
    "kernel-bad-address",
    # A kernel runs on the engine GRAPHICS; the fault of a copy or a video engine is no kernel's.
    r"\bXid\b.{0,80}\b31\b(?!.{0,300}\bENGINE (?!GR))(?=.{0,300}\b(?:FAULT_P[DT]E\w* ACCESS_TYPE_\w+|Fault is of type \w+))"
    r"|\bXid\b.{0,40}\b13\b.{0,80}Warp Exception on .{0,60}(?:MMU Fault|Out Of Range Address|Illegal Address"
    r"|Misaligned Address|Invalid Address)",
    ("Xid",),
    "driver 510 to 595: the text of Xid 31 and 13; NVIDIA/open-gpu-kernel-modules#1030, #363, NVIDIA/TensorRT-LLM#15610,"
    " madMAx43v3r/chia-gigahorse#301",
)
FELL_OFF_BUS = Message(
    "kernel-fell-off-bus",
    r"GPU has fallen off the bus|fallen off the bus and is not responding|\bGPU is lost\b"
    r"|Unable to determine the device handle for GPU ?(?:\d+: ?)?(?P<bus>[0-9a-f]{4,8}:[0-9a-f:.]{2,8})?:? "
    r"?(?:Unknown Error|GPU is lost)|ERR(?:OR)?_GPU_IS_LOST|NVIDIA.{0,120}\(rev ff\)|GPU_LOST\b"
    r"|GPU lost from the bus|nvidia [0-9a-f:.]{7,12}: Unable to change power state from \w+ to \w+, device inaccessible",
    (
        "fallen off the bus",
        "GPU is lost",
        "Unable to determine the device handle",
        "GPU_IS_LOST",
        "(rev ff)",
        "GPU_LOST",
        "GPU lost from",
        "device inaccessible",
    ),
    "NVIDIA/open-gpu-kernel-modules#387, #1151; NVML nvml.h; nverror text of nvstatuscodes.h; lspci of a device that "
    "answers with ones; Linux drivers/pci/pci.c pci_power_up",
)
RECOVERY_NONE = Message(
    "kernel-recovery-none",
    r"GPU Recovery Action\s*:\s*None|recovery action changed (?:from \S+ (?:\([^)]*\) )?)?to 0x0 \(None\)",
    ("Recovery Action",),
    "nvidia-smi -q (580, run); Xid 154",
)
GSP_TIMEOUT = Message(
    "kernel-gsp-timeout",
    r"Timeout (?:waiting for RPC|after \d+s of waiting for RPC response) from (?:GPU\d+ )?GSP"
    r"|(?:GSP|GSP RM|LibOS) heartbeat timed out|_kgsp\w{0,20}HeartbeatTimedOut:"
    r"|GSP task (?:watchdog )?(?:exception|timeout)|GSP-CrashCat Report|_kgspRpcRecvPoll.{0,60}GSP RM (?:heartbeat|timed out)|_kgspLogXid1(?:19|20)\b",
    (
        "waiting for RPC",
        "heartbeat timed out",
        "HeartbeatTimedOut",
        "GSP RM",
        "GSP task",
        "GSP-CrashCat",
        "_kgspRpcRecvPoll",
        "_kgspLogXid1",
    ),
    "kernel_gsp.c 525 to 595; NVIDIA/open-gpu-kernel-modules#446",
)
REMAP_FAILED = Message(
    "kernel-remap-failed",
    r"row.?remap(?:per|ping)?\b.{0,40}\bfail(?:ed|ure)\b(?!\W+(?:no|0|false|none)\b)"
    r"|Remapping Failure Occurred\s*:\s*Yes|Remapping fail(?:ed|ure)\b.{0,30}out of spare|Failed to (?:remap|retire)",
    ("remap", "Failed to retire"),
    "nvidia-smi -q section Remapped Rows; Xid 64 text",
)
ECC_COUNT = Message(
    "kernel-ecc-count",
    r"\bUncorrectable(?: Errors?)?(?: Parity| SEC-DED)?\s*:\s*(?P<count>[1-9]\d*)\b"
    r"|(?:Double Bit ECC|DBE)\b.{0,40}\bat 0x|an uncorrectable double bit error",
    ("Uncorrectable", "Double Bit ECC", "DBE", "double bit error"),
    "nvidia-smi -q section ECC Errors; Xid 48 text",
)
SURPRISE_DOWN = Message(
    "kernel-surprise-down",
    r"aer_uncor_status:\s*0x0*(?P<status>[0-9a-f]+)|\[\s*5\]\s*SDES|UESta:.{0,60}\bSDES\+"
    r"|Surprise (?:Link )?Down(?! ?-)"
    r"|Surprise Down Error",
    ("aer_uncor_status", "SDES", "Surprise Down", "Surprise Link Down"),
    "Linux drivers/pci/pcie/aer.c aer_uncorrectable_error_string[5]; cper; lspci ls-caps-vend",
)
SLOT_LINK_DOWN = Message(
    "kernel-slot-link-down",
    r"pciehp\b.{0,120}(?:Link Down|Card not present)|pcieport.{0,60}\bDPC: containment event",
    ("Link Down", "Card not present", "containment event"),
    "Linux drivers/pci/hotplug/pciehp_ctrl.c, pcie/dpc.c",
)
AER_CORRECTABLE = Message(
    "kernel-aer-correctable",
    r"severity=Correct(?:able|ed)|AER: (?:Multiple )?Correct(?:able|ed) error",
    ("severity=Correct", "Correctable error", "Corrected error"),
    "Linux drivers/pci/pcie/aer.c",
)
PORT_PM_OFF = Message(
    "kernel-port-pm-off",
    r"(?<!without )(?<!without pcie_aspm=off )\bpcie_port_pm=off",
    ("pcie_port_pm=off",),
    "Linux Documentation/admin-guide/kernel-parameters.txt",
)
NO_MEMORY_NVRM = Message(
    "kernel-nvrm-no-memory",
    r"NV_ERR_NO_MEMORY|NVRM:.{0,160}Out of memory|sysmemAllocResources",
    ("NV_ERR_NO_MEMORY", "NVRM:", "sysmemAllocResources"),
    "open-gpu-kernel-modules nvstatuscodes.h",
)
OOM_KILL = Message(
    "kernel-oom-kill",
    r"(?P<cgroup>Memory cgroup )?out of memory: Kill(?:ed)? process (?P<pid>\d+) \((?P<name>[^)]*)\)"
    r"|(?P<by>[\w:./-]{1,64}) invoked oom-killer|oom-kill:constraint=(?P<constraint>CONSTRAINT_\w+)"
    r"|killed by the (?:OOM killer|kernel OOM)|\boom_kill [1-9]\d*|systemd-oomd.{0,60}Killed \S+",
    ("out of memory: Kill", "invoked oom-killer", "oom-kill:", "killed by the ", "oom_kill ", "systemd-oomd"),
    "Linux mm/oom_kill.c; cgroup v2 memory.events; systemd manager.c, oomd",
)
RAY_OOM = Message(
    "kernel-ray-memory-monitor",
    r"(?:Task|Actor|The worker) was killed due to the node running low on memory|exit_type ?= ?NODE_OUT_OF_MEMORY",
    ("node running low on memory", "NODE_OUT_OF_MEMORY"),
    "ray memory monitor, worker_killing_policy.cc, 2.2 to 2.5x",
)
CONTAINER_OOM = Message(
    "kernel-container-oom",
    r"OOMKilled['\"]?[:= ]{1,3}['\"]?true|(?:reason|status)['\"]?:\s*['\"]?OOMKilled",
    ("OOMKilled",),
    "docker inspect State.OOMKilled; kubectl describe pod",
)
NOT_OOM = Message(
    "kernel-container-not-oom",
    r"OOMKilled['\"]?[:= ]{1,3}['\"]?false",
    ("OOMKilled",),
    "docker inspect State.OOMKilled",
)
TASK_BLOCKED = Message(
    "kernel-task-blocked",
    r"task (?P<task>[\w.:/-]+?)(?::(?P<pid>\d+))? blocked for more than (?P<seconds>\d+) seconds",
    ("blocked for more than",),
    "Linux kernel/hung_task.c",
)
OVERLAY_SYNC = Message(
    "kernel-overlay-sync",
    r"\bovl_sync_fs\b|\bovl_sync_(?:upper|inodes?)\b",
    ("ovl_sync_",),
    "Linux fs/overlayfs/super.c; containerd/containerd#5325",
)

# --- loading the module ---
API_MISMATCH = Message(
    "kernel-api-mismatch",
    r"API mismatch: (?:the client|the NVIDIA)(?:.{0,80}?version (?P<client>\d[\d.]+))?",
    ("API mismatch",),
    "open-gpu-kernel-modules rmapi; NVRM API mismatch",
)
MODULE_NOT_FOUND = Message(
    "kernel-module-not-found",
    # Not nvidia_peermem, nvidia-fs and the like: a host can do without them.
    r"Module nvidia(?:[-_](?:uvm|drm|modeset|current|open|server|\d+)\w*)* not found(?: in directory (?P<folder>/\S+))?"
    r"|modinfo: ERROR: Module .?nvidia\S* not found"
    r"|Failed to find module '?nvidia(?:[-_](?:uvm|drm|modeset)\w*)?\b(?![-_])",
    ("Module nvidia", "Module 'nvidia", 'Module "nvidia', "Failed to find module"),
    "kmod tools/modprobe.c; systemd-modules-load",
)
MODULE_BUILD_FAILED = Message(
    "kernel-module-build-failed",
    r"Bad return status for module build on kernel:? ?(?P<kernel>\S+)"
    r"|kernel headers for kernel (?P<headers>\S+) cannot be found"
    r"|dkms.{0,120}\bfailed for running kernel|Building module.{0,120}nvidia.{0,120}(?:bad exit status|failed)",
    ("Bad return status for module build", "kernel headers for kernel", "failed for running kernel", "Building module"),
    "dkms 2.x and 3.x",
)
DKMS_STATUS = Message(
    "kernel-dkms-status",
    r"^\W*nvidia[\w-]*[/,] ?(?P<version>[\d.]+), (?P<kernel>\d[^,\s]+), (?P<arch>\w+): (?P<state>\w+)",
    ("nvidia",),
    "dkms status, 2.8 and 3.x",
)
MODULE_ON_DISK = Message(
    "kernel-module-on-disk",
    r"/lib/modules/(?P<kernel>\d[^/\s]{0,100})/\S{0,160}nvidia[\w-]{0,32}\.ko",
    ("/lib/modules/",),
    "find and modinfo -n",
)
RUNNING_KERNEL = Message(
    "kernel-release",
    r"^\s*(?:uname -r:?\s*|Linux \S+ )?(?P<kernel>\d+\.\d+\.\d+-[\w.+~-]{0,60}(?:generic|amd64|arm64|x86_64|aarch64|nvidia"
    r"|aws|azure|gcp|"
    r"lowlatency|cloud|pve)[\w.+-]*)(?:\s+#.*)?$",
    (
        "generic",
        "amd64",
        "arm64",
        "x86_64",
        "aarch64",
        "-nvidia",
        "-aws",
        "-azure",
        "-gcp",
        "lowlatency",
        "cloud",
        "-pve",
    ),
    "uname -r, uname -a",
)
KEY_REJECTED = Message(
    "kernel-key-rejected",
    r"(?:insert|load)(?: module)? '?(?P<module>(?!error\b)[\w-]{1,64})'?.{0,10}: (?:Key was rejected by service|Required key not available)"
    r"|(?P<named>nvidia[\w-]{0,32}).{0,60}(?:Key was rejected by service|Required key not available)"
    r"|Loading of (?:unsigned module|module with unavailable key) is (?:rejected|restricted)"
    r"|Kernel module load error: (?:Key was rejected by service|Required key not available)"
    r"|unsigned module loading is restricted|signature key is not (?:trusted|enrolled)",
    (
        "Key was rejected by service",
        "Required key not available",
        "Loading of ",
        "unsigned module loading",
        "signature key is not",
    ),
    "Linux kernel/module/signing.c, security/lockdown; kmod; dkms",
)
SECURE_BOOT = Message(
    "kernel-secure-boot",
    r"SecureBoot enabled|Secure ?boot(?: is|:)? enabled|Kernel is locked down from EFI Secure Boot",
    ("Secure",),
    "mokutil --sb-state; Linux security/lockdown",
)
NOUVEAU = Message(
    "kernel-nouveau",
    r"NVIDIA probe routine was not called for (?P<count>\d+) device|obtained ownership of the NVIDIA device"
    r"|already bound to (?P<driver>nouveau|vfio-pci|nova_core)|Nouveau kernel driver is currently in use"
    r"|nouveau [0-9a-f:.]+: NVIDIA \S+ \(|NVRM: nouveau, rivafb|\bnouveau\b.{0,12}\bloaded\b.{0,30}\bnvidia\b.{0,12}\bnot loaded",
    (
        "probe routine was not called",
        "obtained ownership of the NVIDIA",
        "already bound to",
        "Nouveau kernel driver",
        "nouveau ",
        "rivafb",
    ),
    "open-gpu-kernel-modules nv.c; nvidia-installer; Linux nouveau nvkm/engine/device/base.c",
)
LINK_STATE = Message(
    "kernel-link-state",
    r"LnkSta:\s{0,8}Speed (?P<speed>[\d.]{1,5})GT/s(?: \(\w+\))?, Width x(?P<width>\d{1,2})(?: \((?P<state>\w+)\))?",
    ("LnkSta:",),
    "pciutils ls-caps.c cap_express_link",
)
MODULE_TAINT = Message(
    "kernel-module-taint",
    r"module verification failed: signature and/or required key missing|loading out-of-tree module taints kernel"
    r"|module license '?NVIDIA'? taints kernel",
    ("module verification failed", "taints kernel"),
    "Linux kernel/module/main.c; driver 580.159.04 (run)",
)
PERSISTENCE_NOTICE = Message(
    "kernel-persistence-notice",
    r"Persistence mode is deprecated and will be removed",
    ("Persistence mode is deprecated",),
    "driver 580.159.04 (run)",
)
IOMMU_TRANSLATED = Message(
    "kernel-iommu-translated",
    r"Default domain type: Translated",
    ("Default domain type",),
    "Linux drivers/iommu/iommu.c",
)
IOMMU_OFF = Message(
    "kernel-iommu-off",
    r"(?<![\w.])(?:iommu|amd_iommu|intel_iommu)=off\b",
    ("iommu=off",),
    "Linux Documentation/admin-guide/kernel-parameters.txt",
)
HMM_REGION = Message(
    "kernel-hmm-region",
    r"request_free_mem_region\(\) err -34\b",
    ("request_free_mem_region",),
    "open-gpu-kernel-modules uvm_pmm_gpu.c; CUDA 13.2 Update 2 release notes",
)
