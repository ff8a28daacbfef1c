"""NCL009: the driver advertises P2P on boards where it does not work."""

from collections.abc import Iterator

from qops.data.messages import launch
from qops.derive import p2p, platform, stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import DriverParams, Gpu, Gpus, GpuSamples, P2pStatus, Topology
from qops.evidence.kernel import Iommu, KernelCommandLine, KernelLog
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.pcie import PcieTree
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "NCL009",
    "p2p-broken-by-driver",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "job-failed",
        "engine-silent-at-nccl",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "install a current driver: later ones offer no P2P on these boards, and NCCL then uses shared memory",
            commands=("nvidia-smi topo -p2p r",),
            needs_reboot=True,
        ),
        Fix("NCCL_P2P_DISABLE=1, and --disable-custom-all-reduce for the engine", kind="workaround"),
    ),
)
def p2p_broken_by_driver(
    gpus: Gpus | None,
    status: P2pStatus | None,
    topology: Topology | None,
    tree: PcieTree | None,
    iommu: Iommu | None,
    command_line: KernelCommandLine | None,
    kernel: KernelLog | None,
    params: DriverParams | None,
    logs: Logs,
    nccl: NcclLog | None,
    samples: GpuSamples | None,
    torch: TorchLog | None,
    ras: Ras | None,
    engines: EngineLogs | None,
    jobs: JobResults | None,
) -> Iterator[Found | RuledOut]:
    """The driver advertises P2P on boards where it does not work."""
    boards = platform.names(gpus, logs)
    if not platform.series(boards, "30", "40") or p2p.has_nvlink(topology):
        return
    granted = p2p.offered(status, nccl, logs)
    if not granted or stall.works(jobs, engines):
        return
    stood = [s for s in stall.signs(logs, nccl, gpus, samples, torch, engines) if s.kind != "silence"]
    uneven = stall.lag(ras, torch)
    if stood and uneven:
        yield RuledOut("ranks wait at different operations, so the path between GPUs is not what holds them", (uneven,))
        return
    still = logs.find(launch.STATED_NO_PCIE)
    driver = gpus.driver if gpus and gpus.driver else ""
    over = p2p.used(nccl, "P2P")
    if not stood:
        if (
            over
            and platform.offers_broken_p2p(boards, driver)
            and not (platform.patched(kernel) or platform.redirects(tree))
        ):
            yield Found(
                "GPUs",
                f"NCCL uses the P2P that driver {driver} offers on {boards[0]}, where it does not work",
                (over[0], *(g.quote for g in _first(gpus))),
                Confidence.POSSIBLE,
            )
        return
    if platform.redirects(tree) or platform.translation(iommu, command_line, kernel):
        yield RuledOut("the platform below the GPUs redirects or translates P2P, which explains the hang", granted[:1])
        return
    if platform.patched(kernel) or platform.patch_keys(params):
        return
    small = any(g.bar1_total and g.memory_total and g.bar1_total < g.memory_total for g in (gpus.gpus if gpus else ()))
    if platform.offers_no_p2p(boards, driver) or (small and not driver and platform.series(boards, "40")):
        return  # NVIDIA's own driver would not offer P2P here, so another module is loaded
    cleared = platform.iommu_off(command_line, iommu)
    name = f"driver {driver}" if driver else "the driver"
    yield Found(
        subject="GPUs",
        message=f"{name} offers P2P on {len(boards)} x {boards[0]}, and {stood[0].text}",
        evidence=(granted[0], stood[0].quote, *(h.quote for h in still[:1]), *(g.quote for g in _first(gpus))),
        confidence=Confidence.LIKELY if cleared or still else Confidence.POSSIBLE,
    )


def _first(gpus: Gpus | None) -> tuple[Gpu, ...]:
    return gpus.gpus[:1] if gpus else ()
