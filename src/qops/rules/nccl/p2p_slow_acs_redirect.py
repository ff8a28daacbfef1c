"""NCL008: P2P works, but goes up through the root port because a bridge redirects it."""

from collections.abc import Iterator

from qops.derive import p2p, platform, stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpus, GpuSamples, P2pStatus, Pair, Path, PeerRate, PeerRates, Topology
from qops.evidence.kernel import System
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog
from qops.evidence.pcie import PcieDevice, PcieTree
from qops.evidence.process import Environment
from qops.evidence.text import Quote
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule

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
            commands=("lspci -d ::0604 -vvv | grep -E '^[0-9a-f]|ACSCtl'", "setpci -s BRIDGE ECAP_ACS+0x6.w=0000:000c"),
            risk="devices below one bridge can then reach each other without the IOMMU's check",
            variable="pcie_p2p_acs",
            tag="pcie_p2p",
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
    rates: PeerRates | None,
    status: P2pStatus | None,
    environment: Environment | None,
    logs: Logs | None,
    gpus: Gpus | None,
    samples: GpuSamples | None,
    torch: TorchLog | None,
) -> Iterator[Found | RuledOut]:
    """P2P works but goes up through the root port because of ACS redirect."""
    found = platform.redirects(tree)
    near = [p for p in (topology.pairs if topology else ()) if p.path in (Path.PIX, Path.PXB)]
    if not found or not near or p2p.has_nvlink(topology) or (system and system.hypervisor):
        return
    slower = _slower(near, topology, rates)
    if slower:
        yield Found(
            subject=f"{slower[0].a} and {slower[0].b}",
            message=f"they reach each other at {slower[0].rate:g} GB/s below one switch, and {slower[1].a} and "
            f"{slower[1].b} at {slower[1].rate:g} GB/s across the processor, while {platform.words(found, ())}",
            evidence=(slower[0].quote, slower[1].quote, near[0].quote, found[0][1]),
            confidence=Confidence.LIKELY,
        )
        return
    measured = [m for job in (jobs.jobs if jobs else ()) for m in job.measured if m[2] > 0]
    off = p2p.switched("NCCL_P2P_DISABLE", environment, nccl)
    if not rates and not measured and not off and not stall.signs(logs, nccl, gpus, samples, torch, engines):
        yield from _unmeasured(near, _at_gpus(tree, found), status, nccl, works=stall.works(jobs, engines))
        return
    if not stall.works(jobs, engines) or not p2p.used(nccl, "P2P"):
        return
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


def _at_gpus(tree: PcieTree, found: tuple[tuple[PcieDevice, Quote], ...]) -> tuple[tuple[PcieDevice, Quote], ...]:
    """Return the redirecting bridges right above a GPU: a root port's redirect touches nothing that stays below it."""
    buses = {tuple(g.address.split(":")[:2]) for g in tree.gpus}
    return tuple(
        (d, quote)
        for d, quote in found
        if d.secondary is not None and (d.address.split(":")[0], f"{d.secondary:02x}") in buses
    )


def _unmeasured(
    near: list[Pair],
    found: tuple[tuple[PcieDevice, Quote], ...],
    status: P2pStatus | None,
    nccl: NcclLog | None,
    *,
    works: bool,
) -> Iterator[Found]:
    """Yield the detour as a contribution where nobody measured it: the bridges say where traffic goes, not how fast."""
    pair = next((p for p in near if not p2p.refused(status, p.a, p.b)), None)
    if not found or pair is None:
        return
    offered = p2p.offered(status, nccl, None)
    yield Found(
        subject=f"{pair.a} and {pair.b}",
        message=f"{platform.words(found, ())}, so P2P between them goes up to the root port and back, though they are "
        f"below one switch ({pair.path}); nobody measured how slow that is",
        evidence=(found[0][1], pair.quote, *offered[:1]),
        confidence=Confidence.LIKELY if works and offered else Confidence.POSSIBLE,
        role=Role.CONTRIBUTING,
    )


def _slower(near: list[Pair], topology: Topology | None, rates: PeerRates | None) -> tuple[PeerRate, PeerRate] | None:
    """Return a pair below one switch and a faster one across the processor: without redirect it is the reverse."""
    close = {frozenset((p.a, p.b)) for p in near}
    across = {frozenset((p.a, p.b)) for p in p2p.far_pairs(topology)}
    slow = [r for r in (rates.rates if rates else ()) if frozenset((r.a, r.b)) in close]
    fast = [r for r in (rates.rates if rates else ()) if frozenset((r.a, r.b)) in across]
    if not slow or not fast:
        return None
    a, b = max(slow, key=lambda r: r.rate), max(fast, key=lambda r: r.rate)
    return (a, b) if a.rate < 0.9 * b.rate else None
