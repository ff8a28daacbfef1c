"""NCL013: posted writes collapse through a PCIe switch when several GPUs send towards different roots."""

from collections.abc import Iterator

from qops.data.messages import launch
from qops.derive import p2p, platform
from qops.evidence.gpu import Path, Topology
from qops.evidence.kernel import Iommu, KernelCommandLine
from qops.evidence.message import Logs
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Fix, Found, RuledOut, Severity, rule

# Several GPUs share a switch's upstream port, so half of one GPU's rate is fair; less than this part is a collapse
# (two PEX890xx with two EPYC 9575F: several GPUs together wrote less than one alone).
COLLAPSED = 0.4


@rule(
    "NCL013",
    "pcie-switch-write-collapse",
    severity=Severity.WARNING,
    fix=(
        Fix(
            "keep each tensor-parallel group on the GPUs of one switch (PIX in `nvidia-smi topo -m`)",
            kind="workaround",
            commands=("nvidia-smi topo -m",),
        ),
        Fix("report it to the maker of the machine: no kernel, driver or IOMMU setting is known to mend it"),
    ),
)
def pcie_switch_write_collapse(
    logs: Logs,
    topology: Topology,
    tree: PcieTree | None,
    iommu: Iommu | None,
    command_line: KernelCommandLine | None,
) -> Iterator[Found | RuledOut]:
    """Posted writes collapse through a PCIe switch when several GPUs send towards different roots."""
    near = [p for p in topology.pairs if p.path is Path.PIX]
    across = p2p.far_pairs(topology)
    rates = sorted(
        ((int(h.groups["gpus"]), float(h.groups["rate"]), h.quote) for h in logs.find(launch.WRITE_RATE)),
        key=lambda r: r[0],
    )
    if not near or not across or p2p.has_nvlink(topology) or len(rates) < 2:
        return
    one, many = rates[0], min(rates[1:], key=lambda r: r[1])
    if many[0] <= one[0] or one[1] <= 0 or many[1] > COLLAPSED * one[1]:
        return
    if platform.redirects(tree):
        yield RuledOut("bridges redirect peer requests, which makes P2P slow by itself", (many[2],))
        return
    cleared = platform.iommu_off(command_line, iommu)
    yield Found(
        subject="PCIe switch",
        message=f"{one[0]} GPU{'s' if one[0] > 1 else ''} write {one[1]:g} GB/s, {many[0]} together {many[1]:g} GB/s, "
        f"across {across[0].path} from one switch ({near[0].path})",
        evidence=(one[2], many[2], near[0].quote),
        confidence=Confidence.LIKELY if cleared else Confidence.POSSIBLE,
    )
