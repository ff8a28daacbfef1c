"""What the kernel says: its log, command line, modules, limits and settings."""

from dataclasses import dataclass

from qops.evidence.text import Quote


@dataclass(frozen=True, slots=True)
class Xid:
    """An NVRM Xid (or SXid, of an NVSwitch) line."""

    code: int
    quote: Quote
    bus_id: str = ""  # as printed: 0000:06:00
    pid: int | None = None
    process: str = ""
    detail: str = ""
    switch: bool = False  # True for SXid
    at: float | None = None  # seconds since boot, when the line says so


@dataclass(frozen=True, slots=True)
class OomKill:
    """The kernel killed a process for memory."""

    quote: Quote
    pid: int | None = None
    process: str = ""
    cgroup: bool = False  # True: a cgroup's limit, not the whole machine's memory


@dataclass(frozen=True, slots=True)
class AerError:
    """A PCIe error report."""

    quote: Quote
    device: str = ""
    severity: str = ""  # "Correctable", "Uncorrectable", "Fatal", …
    status: int | None = None  # aer_uncor_status bits


@dataclass(frozen=True, slots=True)
class KernelLog:
    """dmesg or the kernel's journal. Other kernel messages are in `Logs`."""

    xids: tuple[Xid, ...] = ()
    oom_kills: tuple[OomKill, ...] = ()
    aer: tuple[AerError, ...] = ()
    iommu_domain: str = ""  # "Translated", "Passthrough": what the kernel prints as default
    iommu_active: tuple[Quote, ...] = ()  # lines that show an IOMMU at work (DMAR, AMD-Vi)
    nvidia_loaded: tuple[Quote, ...] = ()  # module load lines
    lines: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class KernelCommandLine:
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


@dataclass(frozen=True, slots=True)
class Iommu:
    """/sys/class/iommu and the groups' types. `units` empty: no IOMMU is at work."""

    units: tuple[str, ...]
    group_types: tuple[str, ...] = ()  # "DMA", "DMA-FQ", "identity"
    quote: Quote | None = None


@dataclass(frozen=True, slots=True)
class Modules:
    """Loaded modules, and for which kernels an NVIDIA module lies on disk (None: nobody looked)."""

    loaded: tuple[str, ...]
    nvidia_for: tuple[str, ...] | None = None  # kernel releases
    quote: Quote | None = None


@dataclass(frozen=True, slots=True)
class System:
    """uname, os-release and lscpu."""

    kernel: str = ""
    machine: str = ""  # x86_64, aarch64
    os: str = ""  # "ubuntu 24.04"
    cpu_vendor: str = ""  # GenuineIntel, AuthenticAMD, ARM
    cpus: int | None = None
    sockets: int | None = None
    hypervisor: str = ""  # empty: none seen
    quote: Quote | None = None


@dataclass(frozen=True, slots=True)
class Sysctls:
    """Kernel settings; a key that the kernel does not have is in `absent`."""

    values: dict[str, str]
    absent: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of one process or shell. `memlock` and `stack` in bytes, -1 for unlimited."""

    owner: str
    quote: Quote
    memlock: int | None = None
    nofile: int | None = None
    stack: int | None = None


@dataclass(frozen=True, slots=True)
class AllLimits:
    """The limits seen, one entry for each process or shell."""

    limits: tuple[Limits, ...]


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A tmpfs at /dev/shm: size and use in bytes. `leaked` names NCCL segments that no process holds."""

    size: int | None
    used: int | None
    quote: Quote
    leaked: tuple[str, ...] = ()
    owner: str = "host"


@dataclass(frozen=True, slots=True)
class Memory:
    """/proc/meminfo, in bytes."""

    total: int
    available: int | None
    free: int | None
    cached: int | None
    quote: Quote
    swap_total: int | None = None


@dataclass(frozen=True, slots=True)
class CpuFrequency:
    """cpufreq as /sys shows it. `governors` counts the CPUs that each governor serves; empty: no cpufreq here."""

    governors: dict[str, int]
    available: tuple[str, ...] = ()  # governors that every CPU can have
    driver: str = ""  # acpi-cpufreq, intel_pstate, amd-pstate-epp, cppc_cpufreq
    autonomous: bool | None = None  # cppc_cpufreq.auto_sel_mode; None: this kernel does not have it
    quote: Quote | None = None  # of the first governor seen


@dataclass(frozen=True, slots=True)
class Hugepages:
    """Transparent hugepages: the choice in force, of those that the kernel has. "" and (): it has none."""

    enabled: str
    choices: tuple[str, ...] = ()
    quote: Quote | None = None
