"""What the kernel says: its log, command line, modules, limits and settings."""

from msgspec import Struct

from qops.evidence.text import Quote


class Xid(Struct, frozen=True):
    """An NVRM Xid (or SXid, of an NVSwitch) line."""

    code: int
    quote: Quote
    bus_id: str = ""  # as printed: 0000:06:00
    pid: int | None = None
    process: str = ""
    detail: str = ""
    switch: bool = False  # True for SXid
    at: float | None = None  # seconds since boot, when the line says so


class OomKill(Struct, frozen=True):
    """The kernel killed a process for memory."""

    quote: Quote
    pid: int | None = None
    process: str = ""
    cgroup: bool = False  # True: a cgroup's limit, not the whole machine's memory


class AerError(Struct, frozen=True):
    """A PCIe error report."""

    quote: Quote
    device: str = ""
    severity: str = ""  # "Correctable", "Uncorrectable", "Fatal", …
    status: int | None = None  # aer_uncor_status bits


class KernelLog(Struct, frozen=True):
    """dmesg or the kernel's journal. Other kernel messages are in `Logs`."""

    xids: tuple[Xid, ...] = ()
    oom_kills: tuple[OomKill, ...] = ()
    aer: tuple[AerError, ...] = ()
    iommu_domain: str = ""  # "Translated", "Passthrough": what the kernel prints as default
    iommu_active: tuple[Quote, ...] = ()  # lines that show an IOMMU at work (DMAR, AMD-Vi)
    nvidia_loaded: tuple[Quote, ...] = ()  # module load lines
    complaints: tuple[Quote, ...] = ()  # lines of NVRM that are not printed where all is well
    lines: int = 0
    source: str = ""


class KernelCommandLine(Struct, frozen=True):
    """/proc/cmdline, in order."""

    options: tuple[str, ...]
    quote: Quote

    def value(self, name: str) -> str | None:
        """Return the last value of `name`; "" for a bare option; None when absent."""
        found: str | None = None
        for option in self.options:
            key, _, value = option.partition("=")
            if key == name:
                found = value
        return found


class Iommu(Struct, frozen=True):
    """/sys/class/iommu and the groups' types. `units` empty: no IOMMU is at work."""

    units: tuple[str, ...]
    group_types: tuple[str, ...] = ()  # "DMA", "DMA-FQ", "identity"
    quote: Quote | None = None


class Modules(Struct, frozen=True):
    """Loaded modules, and for which kernels an NVIDIA module lies on disk (None: nobody looked)."""

    loaded: tuple[str, ...]
    nvidia_for: tuple[str, ...] | None = None  # kernel releases
    quote: Quote | None = None


class System(Struct, frozen=True):
    """uname, os-release and lscpu."""

    kernel: str = ""
    machine: str = ""  # x86_64, aarch64
    os: str = ""  # "ubuntu 24.04"
    cpu_vendor: str = ""  # GenuineIntel, AuthenticAMD, ARM
    cpus: int | None = None
    sockets: int | None = None
    hypervisor: str = ""  # empty: none seen
    quote: Quote | None = None


class Sysctls(Struct, frozen=True):
    """Kernel settings; a key that the kernel does not have is in `absent`."""

    values: dict[str, str]
    absent: tuple[str, ...] = ()
    source: str = ""


class Limits(Struct, frozen=True):
    """Resource limits of one process or shell. `memlock` and `stack` in bytes, -1 for unlimited."""

    owner: str
    quote: Quote
    memlock: int | None = None
    nofile: int | None = None
    stack: int | None = None


class AllLimits(Struct, frozen=True):
    """The limits seen, one entry for each process or shell."""

    limits: tuple[Limits, ...]


class SharedMemory(Struct, frozen=True):
    """A tmpfs at /dev/shm: size and use in bytes. `leaked` names NCCL segments that no process holds."""

    size: int | None
    used: int | None
    quote: Quote
    leaked: tuple[str, ...] = ()
    owner: str = "host"


class Memory(Struct, frozen=True):
    """/proc/meminfo, in bytes."""

    total: int
    available: int | None
    free: int | None
    cached: int | None
    quote: Quote
    swap_total: int | None = None
    swap_free: int | None = None


class CpuFrequency(Struct, frozen=True):
    """cpufreq as /sys shows it. `governors` counts the CPUs that each governor serves; empty: no cpufreq here."""

    governors: dict[str, int]
    available: tuple[str, ...] = ()  # governors that every CPU can have
    driver: str = ""  # acpi-cpufreq, intel_pstate, amd-pstate-epp, cppc_cpufreq
    autonomous: bool | None = None  # cppc_cpufreq.auto_sel_mode; None: this kernel does not have it
    quote: Quote | None = None  # of the first governor seen


class Hugepages(Struct, frozen=True):
    """Transparent hugepages: the choice in force, of those that the kernel has. "" and (): it has none."""

    enabled: str
    choices: tuple[str, ...] = ()
    quote: Quote | None = None
