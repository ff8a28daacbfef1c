"""Evidence of hosts on which recipes are planned: one of each class, with values of our own."""

from collections.abc import Mapping

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.evidence.cdi import Cdi, CdiSpec
from qops.evidence.container_engine import ContainerEngine, DockerInfo
from qops.evidence.gpu import DriverModule, Gpu, Gpus, P2pPair, P2pStatus, Pair, Path, Topology
from qops.evidence.image import Images
from qops.evidence.kernel import Iommu, KernelCommandLine, Memory, System
from qops.evidence.model import Models, Overlay, StoredModel
from qops.evidence.pcie import PcieTree
from qops.evidence.text import Quote

GIB = 1 << 30
SMI = Quote("nvidia-smi -q -x", 1, "<gpu>")
TOPO = Quote("nvidia-smi topo -m", 2, "GPU0  X  NODE")
Seen = Mapping[type, object]


def _common(driver: str, memory: int) -> dict[type, object]:
    return {
        DriverModule: DriverModule(driver, True, Quote("/proc/driver/nvidia/version", 1, f"NVRM {driver}")),
        Memory: Memory(
            memory, memory - 6 * GIB, None, None, Quote("/proc/meminfo", 1, f"MemTotal: {memory // 1024} kB")
        ),
        Iommu: Iommu(()),
        KernelCommandLine: KernelCommandLine(("quiet",), Quote("/proc/cmdline", 1, "quiet")),
        PcieTree: PcieTree(()),
        Images: Images("docker"),
        ContainerEngine: ContainerEngine(
            docker="/usr/bin/docker", active="active", info=DockerInfo("28.1", ("nvidia", "runc"), ("/etc/cdi",))
        ),
        Cdi: Cdi("1.18", (CdiSpec("/var/run/cdi/nvidia.yaml", SMI, "nvidia.com/gpu", devices=("all",)),)),
    }


def rtxpro(gpus: int = 4, *, sockets: int = 1, path: Path = Path.NODE, driver: str = "590.48.01") -> Seen:
    """RTX PRO 6000 on an EPYC; with two sockets, half of the GPUs at each."""
    memory = 97_887 * (1 << 20)
    boards = tuple(
        Gpu(n, SMI, "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", f"00000000:{n + 1:02x}:00.0", f"GPU-{n}",
            "12.0", memory, 4 << 20)
        for n in range(gpus)
    )  # fmt: skip
    pairs = tuple(
        Pair(f"GPU{a}", f"GPU{b}", path if sockets == 1 or a * 2 // gpus == b * 2 // gpus else Path.SYS, TOPO)
        for a in range(gpus)
        for b in range(a + 1, gpus)
    )
    numa = tuple((f"GPU{n}", str(n * sockets // gpus)) for n in range(gpus))
    return {
        **_common(driver, 503 * GIB),
        Gpus: Gpus(boards, driver, "13.1"),
        Topology: Topology(pairs, numa=numa),
        P2pStatus: P2pStatus(tuple(P2pPair(p.a, p.b, "r", "OK", TOPO) for p in pairs)),
        System: System(
            "6.8.0",
            "x86_64",
            "ubuntu 24.04",
            "AuthenticAMD",
            96 * sockets,
            sockets,
            quote=Quote("lscpu", 4, "CPU(s): 96"),
        ),
    }


def rtx5090(*, driver: str = "580.95.05", used: int = 0) -> Seen:
    """One RTX 5090 in a desktop."""
    board = Gpu(0, SMI, "NVIDIA GeForce RTX 5090", "00000000:01:00.0", "GPU-a", "12.0", 32_607 << 20, used)
    return {
        **_common(driver, 92 * GIB),
        Gpus: Gpus((board,), driver, "13.0"),
        Topology: Topology((), numa=(("GPU0", "N/A"),)),
        System: System(
            "6.14.0", "x86_64", "ubuntu 24.04", "GenuineIntel", 24, 1, quote=Quote("lscpu", 4, "CPU(s): 24")
        ),
    }


def spark(*, total: int = 125_500_000_000, driver: str = "580.95.05") -> Seen:
    """A DGX Spark, whose GPU says nothing of memory."""
    board = Gpu(0, SMI, "NVIDIA GB10", "0000000f:01:00.0", "GPU-b", "12.1")
    return {
        **_common(driver, total),
        Gpus: Gpus((board,), driver, "13.0"),
        Topology: Topology((), numa=(("GPU0", "0"),)),
        System: System("6.11.0", "aarch64", "ubuntu 24.04", "ARM", 20, 1, quote=Quote("lscpu", 4, "CPU(s): 20")),
    }


def hardware(class_: str) -> Derived[HardwareClass]:
    """A class as a look at the host would find it."""
    return Derived(HardwareClass(class_), f"nvidia-smi shows boards of {class_}")


def stored(repository: str, revision: str, size: int, *, overlay: bool = False) -> Models:
    """The model store with one model in it."""
    folder = f"/var/lib/qops/models/{repository.replace('/', '--')}/{revision}"
    quote = Quote("models", 1, folder)
    over = Overlay(f"{folder}--served", quote, "a", "a") if overlay else None
    return Models((StoredModel(folder, quote, repository, revision, size=size, proved=True, overlay=over),))
