"""NCL801: NVLink or P2P is there, and a setting keeps NCCL from using it."""

from collections.abc import Iterator

from qops.data import nccl as facts
from qops.derive import p2p
from qops.evidence.engine import JobResults
from qops.evidence.gpu import P2pStatus, Topology
from qops.evidence.nccl import NcclLog
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "NCL801",
    "nccl-link-not-used",
    severity=Severity.INFO,
    role=Role.INFO,
    fix=(
        Fix(
            "leave NCCL_P2P_DISABLE, NCCL_P2P_LEVEL and NCCL_SHM_DISABLE out, unless they work around a broken machine",
            commands=("env | grep -E '^NCCL_(P2P|SHM)'", "grep -sE 'P2P|SHM' /etc/nccl.conf ~/.nccl.conf"),
        ),
    ),
)
def nccl_link_not_used(
    nccl: NcclLog | None,
    environment: Environment | None,
    topology: Topology | None,
    status: P2pStatus | None,
    jobs: JobResults | None,
) -> Iterator[Found | RuledOut]:
    """NVLink or P2P is there, and a setting keeps NCCL from using it."""
    reach = p2p.level(environment, nccl, None, None)
    shm_off = p2p.switched("NCCL_SHM_DISABLE", environment, nccl)
    if not (reach.forced or shm_off) or p2p.used(nccl, "P2P"):
        return
    pairs = [p for p in (topology.pairs if topology else ()) if p.path in facts.LEVEL_OF_PATH]
    cut = [
        p
        for p in pairs
        if facts.distance(facts.LEVEL_OF_PATH[p.path]) > facts.distance(reach.value)
        and not p2p.refused(status, p.a, p.b)
        and (p.links or facts.LEVEL_OF_PATH[p.path] in ("NVL", "PIX", "PXB"))
    ]
    carried = (*p2p.used(nccl, "NET"), *p2p.used(nccl, "SHM"))
    if not reach.forced or (pairs and not cut) or (not pairs and not carried):
        return
    link = f"{cut[0].links} NVLinks" if cut and cut[0].links else str(cut[0].path) if cut else "the direct link"
    ends = f" between {cut[0].a} and {cut[0].b}" if cut else ""
    way = "the network" if (shm_off or p2p.used(nccl, "NET")) else "shared memory"
    measured = [m for job in (jobs.jobs if jobs else ()) for m in job.measured]
    cost = f": {measured[0][0]} takes {measured[0][1]:.3g} ms, {measured[0][2]:.3g} GB/s" if measured else ""
    because = reach.because + (f" and {shm_off.name}=1" if shm_off else "")
    yield Found(
        "GPUs",
        f"{link}{ends} is not used, data goes through {way} because of {because}{cost}",
        (*reach.quotes, *((shm_off.quote,) if shm_off else ()), *carried[:1], *(m[3] for m in measured[:1])),
        Confidence.CERTAIN if carried else Confidence.LIKELY,
        role=Role.CONTRIBUTING,  # it says what is lost, not that anything works
    )
