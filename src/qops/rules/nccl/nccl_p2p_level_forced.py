"""NCL011: NCCL_P2P_LEVEL forces P2P over a path where the machine, by itself, would not use it."""

from collections.abc import Iterator

from qops.data import nccl as facts
from qops.derive import p2p, stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpus, GpuSamples, P2pStatus, Topology
from qops.evidence.kernel import System
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.process import Environment
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "NCL011",
    "nccl-p2p-level-forced",
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
            "leave NCCL_P2P_LEVEL out: NCCL picks what the topology can carry. If P2P is wanted across the processor, "
            "repair the platform first (IOMMU, ACS)",
            commands=("env | grep '^NCCL_P2P'", "grep -s P2P /etc/nccl.conf ~/.nccl.conf", "nvidia-smi topo -m"),
        ),
    ),
)
def nccl_p2p_level_forced(
    logs: Logs,
    topology: Topology | None,
    status: P2pStatus | None,
    environment: Environment | None,
    nccl: NcclLog | None,
    system: System | None,
    gpus: Gpus | None,
    samples: GpuSamples | None,
    torch: TorchLog | None,
    ras: Ras | None,
    engines: EngineLogs | None,
    jobs: JobResults | None,
) -> Iterator[Found | RuledOut]:
    """NCCL_P2P_LEVEL forces what the topology cannot do."""
    far = p2p.far_pairs(topology)
    forced = p2p.level(environment, nccl, system, None)
    if not far or not forced.forced or p2p.has_nvlink(topology):
        return
    worst = max(far, key=lambda p: facts.distance(facts.LEVEL_OF_PATH[p.path]))
    size = p2p.group_size(nccl, topology)
    text = next(iter(nccl.versions if nccl else ()), "") or next(
        (e.nccl for e in (engines.logs if engines else ())), ""
    )
    vendor, machine = (system.cpu_vendor, system.machine) if system else ("", "")
    default = facts.default_p2p_level(facts.version_of(text), vendor, machine, size)
    reaches = [p for p in far if facts.distance(facts.LEVEL_OF_PATH[p.path]) <= facts.distance(forced.value)]
    if not reaches or facts.distance(forced.value) <= facts.distance(default.level):
        return
    if p2p.refused(status, reaches[0].a, reaches[0].b):
        return  # the driver refuses, so NCCL takes shared memory whatever the level says
    if stall.works(jobs, engines):
        yield RuledOut(f"collectives ended with {forced.because}", forced.quotes)
        return
    stood = stall.signs(logs, nccl, gpus, samples, torch, engines)
    uneven = stall.lag(ras, torch)
    if stood and uneven:
        yield RuledOut("ranks wait at different operations, so the path between GPUs is not what holds them", (uneven,))
        return
    message = f"{forced.because} lets {worst.a} and {worst.b} use P2P at {worst.path}, where {default.because}"
    if stood:
        strong = any(s.kind != "silence" for s in stood)
        yield Found(
            "GPUs",
            f"{message}; {stood[0].text}",
            (*forced.quotes, worst.quote, stood[0].quote),
            Confidence.LIKELY if strong or len(stood) > 1 else Confidence.POSSIBLE,
        )
    else:
        yield Found(
            "GPUs",
            f"{message}; nothing seen shows a hang",
            (*forced.quotes, worst.quote),
            Confidence.POSSIBLE,
            severity=Severity.WARNING,
            role=Role.CONTRIBUTING,
        )
