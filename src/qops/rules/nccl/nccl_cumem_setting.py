"""NCL015: cuMem allocation is switched off, or on, where that breaks the transport."""

import re
from collections.abc import Iterator

from qops.data import nccl as facts
from qops.data.messages import nccl as messages
from qops.derive import p2p, platform, stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpus, GpuSamples, Topology
from qops.evidence.kernel import KernelCommandLine
from qops.evidence.message import Hit, Logs, quotes
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.pcie import PcieTree
from qops.evidence.process import Environment
from qops.evidence.torch import TorchLog
from qops.pattern import lazy
from qops.rule import Confidence, Fix, Found, RuledOut, rule

_SEGMENT = lazy(r"nccl-[A-Za-z0-9-]{6,80}", re.ASCII)
_HOST_OFF = Fix(
    "NCCL_CUMEM_HOST_ENABLE=0, or a driver of 580 or later, or a newer NCCL", commands=("env | grep NCCL_CUMEM",)
)


@rule(
    "NCL015",
    "nccl-cumem-setting",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "nccl-error",
        "job-failed",
        "engine-silent-at-nccl",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "NCCL_CUMEM_ENABLE=1 for every rank (SGLang sets 0 when nobody set it, and so did vLLM 0.9)",
            commands=("env | grep NCCL_CUMEM", "grep -s CUMEM /etc/nccl.conf ~/.nccl.conf"),
        ),
    ),
)
def nccl_cumem_setting(
    logs: Logs,
    environment: Environment | None,
    nccl: NcclLog | None,
    topology: Topology | None,
    tree: PcieTree | None,
    command_line: KernelCommandLine | None,
    gpus: Gpus | None,
    samples: GpuSamples | None,
    torch: TorchLog | None,
    ras: Ras | None,
    engines: EngineLogs | None,
    jobs: JobResults | None,
) -> Iterator[Found | RuledOut]:
    """The cuMem allocator is switched off, or on, where that breaks the transport."""
    peer = _peer_access(logs, nccl)
    if peer:
        off = [s for s in p2p.settings("NCCL_CUMEM_HOST_ENABLE", environment, nccl) if s.value == "0"]
        if off:
            yield RuledOut("cuMem host buffers are off already", (off[0].quote,))
            return
        yield Found(
            "NCCL",
            "its host buffers by cuMem fail on GPUs without peer access (CUDA error 217)",
            quotes(peer, 2),
            Confidence.LIKELY,
            fix=(_HOST_OFF,),
        )
        return
    garbled = [h for h in logs.find(messages.SHM_SEGMENT) if _garbled(h)]
    if garbled:
        yield Found(
            "NCCL",
            "a rank takes another's cuMem handle for the name of a segment in /dev/shm: host buffers by cuMem work for "
            "some ranks and not for all, as with NUMA nodes that have no memory",
            quotes(garbled, 2),
            Confidence.LIKELY,
            fix=(_HOST_OFF,),
        )
        return
    disabled = [s for s in p2p.settings("NCCL_CUMEM_ENABLE", environment, nccl) if s.value.strip() == "0"]
    ipc = p2p.used(nccl, "P2P/IPC")
    if not disabled or p2p.has_nvlink(topology) or stall.works(jobs, engines):
        return
    strong = [s for s in stall.signs(logs, nccl, gpus, samples, torch, engines) if s.kind != "silence"]
    uneven = stall.lag(ras, torch)
    if strong and uneven:
        yield RuledOut("ranks wait at different operations, so the path between GPUs is not what holds them", (uneven,))
        return
    passthrough = command_line is not None and command_line.value("iommu") == "pt"
    if not strong or platform.redirects(tree) or not (ipc or passthrough):
        return
    about = ", with iommu=pt on the kernel's command line" if passthrough else ""
    yield Found(
        "NCCL",
        f"NCCL_CUMEM_ENABLE=0 makes it use legacy IPC between GPUs{about}, and {strong[0].text}",
        (
            disabled[0].quote,
            *ipc[:1],
            strong[0].quote,
            *((command_line.quote,) if command_line and passthrough else ()),
        ),
        Confidence.LIKELY if passthrough and ipc else Confidence.POSSIBLE,
    )


def _garbled(hit: Hit) -> bool:
    """Return whether a rank attaches to a name that mkstemp never made: six letters or digits follow `nccl-`.

    Then the name is another union member's bytes (NVIDIA/nccl 2059, pytorch/pytorch 152302).
    """
    name = hit.groups["path"].rpartition("/")[2]
    attaches = hit.groups["what"].lower() != "creating"
    return attaches and name.startswith("nccl-") and not _SEGMENT.fullmatch(name)


def _peer_access(logs: Logs, nccl: NcclLog | None) -> list[Hit]:
    """Return where error 217 comes from cuMem host buffers: shm.cc says so, or a release that makes them by itself."""
    hits = logs.find(messages.PEER_ACCESS_217)
    versions = [facts.version_of(v) for v in (nccl.versions if nccl else ())]
    by_itself = any(v >= facts.CUMEM_HOST_DEFAULT for v in versions)
    return [h for h in hits if h.groups.get("where") or by_itself]
