"""NCL008: P2P works, but goes up through the root port because a bridge redirects it."""

from collections.abc import Iterator

from qops.derive import p2p, platform, stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Path, Topology
from qops.evidence.kernel import System
from qops.evidence.nccl import NcclLog
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Fix, Found, RuledOut, Severity, rule

# GB/s of an all-reduce over one PCIe switch. Gen4 x16 carries about 25, Gen5 about 50; redirected traffic shares the
# upstream port and stays below half of that (community measurements on PEX890xx).
SLOW_BELOW_SWITCH = 12.0


@rule(
    "NCL008",
    "p2p-slow-acs-redirect",
    severity=Severity.WARNING,
    fix=(
        Fix(
            "clear ReqRedir and CmpltRedir on the root ports and on the switch's downstream ports, at each boot; "
            "never inside a virtual machine",
            commands=("lspci -d ::0604 -vvv | grep -E '^[0-9a-f]|ACSCtl'", "setpci -s BRIDGE ECAP_ACS+0x6.w=0000"),
            risk="devices below one bridge can then reach each other without the IOMMU's check",
        ),
    ),
)
def p2p_slow_acs_redirect(
    tree: PcieTree,
    topology: Topology | None,
    nccl: NcclLog | None,
    jobs: JobResults | None,
    engines: EngineLogs | None,
    system: System | None,
) -> Iterator[Found | RuledOut]:
    """P2P works but goes up through the root port because of ACS redirect."""
    found = platform.redirects(tree)
    near = [p for p in (topology.pairs if topology else ()) if p.path in (Path.PIX, Path.PXB)]
    if not found or not near or p2p.has_nvlink(topology) or (system and system.hypervisor):
        return
    if not stall.works(jobs, engines) or not p2p.used(nccl, "P2P"):
        return
    measured = [m for job in (jobs.jobs if jobs else ()) for m in job.measured if m[2] > 0]
    slow = [m for m in measured if m[2] < SLOW_BELOW_SWITCH]
    if measured and not slow:
        yield RuledOut(f"{measured[0][0]} reaches {measured[0][2]:.0f} GB/s", (measured[0][3],))
        return
    if not slow:
        return
    what, _, rate, line = slow[0]
    yield Found(
        subject=f"{near[0].a} and {near[0].b}",
        message=f"{what} reaches {rate:.1f} GB/s below one switch ({near[0].path}) while {platform.words(found, ())}",
        evidence=(line, near[0].quote, found[0][1]),
        confidence=Confidence.LIKELY,
    )
