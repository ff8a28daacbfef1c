"""What the NVIDIA driver and its tools say about the GPUs."""

from enum import StrEnum

from msgspec import Struct

from qops.evidence.text import Quote


class Gpu(Struct, frozen=True):
    """One GPU at one moment. None means: not said, or N/A on this board."""

    index: int
    quote: Quote
    name: str = ""
    bus_id: str = ""  # 00000000:06:00.0, lower case
    uuid: str = ""
    compute_capability: str = ""  # "9.0"
    memory_total: int | None = None  # bytes
    memory_used: int | None = None  # bytes
    bar1_total: int | None = None  # bytes
    utilization: int | None = None  # percent of time in which a kernel ran
    memory_utilization: int | None = None  # percent of time in which memory was read or written
    power: float | None = None  # watts
    power_limit: float | None = None  # watts, in force
    power_limit_default: float | None = None
    power_limit_min: float | None = None
    power_limit_max: float | None = None
    temperature: int | None = None  # degrees Celsius
    sm_clock: int | None = None  # MHz
    sm_clock_max: int | None = None  # MHz
    pstate: str = ""
    link_gen: int | None = None
    link_gen_max: int | None = None  # what the slot and the card can do together
    link_width: int | None = None
    link_width_max: int | None = None
    persistence: bool | None = None
    ecc_uncorrected: int | None = None  # volatile, all locations
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    throttle: tuple[str, ...] = ()  # active reasons: "sw_power_cap", "hw_thermal_slowdown", "idle", …
    fabric_state: str = ""  # "Completed", "In Progress", "" when not said
    fabric_status: str = ""
    recovery_action: str = ""
    addressing_mode: str = ""
    places: tuple[tuple[str, Quote], ...] = ()  # where a field or a reason is said, when `quote` is not that line

    def said(self, *names: str) -> tuple[Quote, ...]:
        """Return the lines that say these fields or reasons to throttle; the GPU's own line when they have none."""
        return tuple(dict.fromkeys(quote for name, quote in self.places if name in names)) or (self.quote,)


class GpuProcess(Struct, frozen=True):
    """A process that holds a GPU, as nvidia-smi lists it."""

    pid: int
    gpu: str  # index or UUID, as printed
    name: str
    memory: int | None  # bytes
    quote: Quote


class Gpus(Struct, frozen=True):
    """The GPUs of a host. `attached` is the driver's own count. `processes` is None when nobody asked."""

    gpus: tuple[Gpu, ...] = ()
    driver: str = ""
    cuda: str = ""
    attached: int | None = None
    processes: tuple[GpuProcess, ...] | None = None
    quote: Quote | None = None
    bare: bool = False  # known only from rows that name boards, pasted without what was asked: they tell no state


class GpuSample(Struct, frozen=True):
    """One reading of one GPU in a series. `at` is seconds since the first reading of the series."""

    at: float
    index: int
    quote: Quote
    utilization: int | None = None  # percent
    memory_utilization: int | None = None  # percent
    power: float | None = None  # watts
    memory_used: int | None = None  # bytes
    sm_clock: int | None = None  # MHz
    pcie_rx: int | None = None  # MB/s
    pcie_tx: int | None = None  # MB/s
    pstate: str = ""


class GpuSamples(Struct, frozen=True):
    """Readings over time, in order. May hold a single moment: then nothing can be said about progress."""

    samples: tuple[GpuSample, ...]

    def of(self, index: int) -> tuple[GpuSample, ...]:
        """Return the readings of one GPU, in order of time."""
        return tuple(s for s in self.samples if s.index == index)

    @property
    def indexes(self) -> tuple[int, ...]:
        """The GPUs that were read."""
        return tuple(sorted({s.index for s in self.samples}))


class Path(StrEnum):
    """How two devices reach each other, nearest first, as `nvidia-smi topo -m` names it (NV4, NV18, … are NV)."""

    SELF = "X"
    NV = "NV"
    PIX = "PIX"
    PXB = "PXB"
    PHB = "PHB"
    NODE = "NODE"
    SYS = "SYS"


class Pair(Struct, frozen=True):
    """The path between two devices (`GPU0`, `NIC3`, `mlx5_0`). `links` counts bonded NVLinks."""

    a: str
    b: str
    path: Path
    quote: Quote
    links: int = 0


class Topology(Struct, frozen=True):
    """The matrix of `nvidia-smi topo -m`, each unordered GPU pair once, GPU to NIC pairs apart."""

    pairs: tuple[Pair, ...]
    nic_pairs: tuple[Pair, ...] = ()
    numa: tuple[tuple[str, str], ...] = ()  # (GPU0, "0")
    nics: tuple[tuple[str, str], ...] = ()  # legend: (NIC0, mlx5_0)


class P2pPair(Struct, frozen=True):
    """What the driver grants between two GPUs: OK, CNS, GNS, TNS, NS, DR or U."""

    a: str
    b: str
    capability: str  # "r" read, "w" write, "n" NVLink, "a" atomics, "p" PCIe; "" when not said
    status: str
    quote: Quote


class P2pStatus(Struct, frozen=True):
    """`nvidia-smi topo -p2p`: a permission of the driver, never a proof that bytes move."""

    pairs: tuple[P2pPair, ...]


class PeerRate(Struct, frozen=True):
    """What was measured between two GPUs with P2P on, in GB/s."""

    a: str  # "GPU0"
    b: str
    rate: float
    quote: Quote


class PeerRates(Struct, frozen=True):
    """The bandwidth matrix of CUDA's p2pBandwidthLatencyTest with P2P on."""

    rates: tuple[PeerRate, ...]


class DriverModule(Struct, frozen=True):
    """The loaded kernel module (`/proc/driver/nvidia/version`)."""

    version: str
    open_kernel: bool | None
    quote: Quote


class DriverParams(Struct, frozen=True):
    """`/proc/driver/nvidia/params`, names and values as printed (quotes around values removed)."""

    params: dict[str, str]
    source: str
