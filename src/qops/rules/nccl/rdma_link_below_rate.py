"""NCL061: an RDMA link is slower than it should be."""

from collections.abc import Iterator

from qops.derive import rdma_network
from qops.derive.hardware_class import HardwareClass, hardware_class
from qops.evidence.gpu import Gpus
from qops.evidence.intent import Intent
from qops.evidence.network import NetworkConfig, RdmaPorts
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "NCL061",
    "rdma-link-below-rate",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "see the cable and what the other end offers, then measure the rail",
            commands=("ethtool IFACE | grep -E 'Speed|Link'", "ib_write_bw -d DEVICE --report_gbits"),
            variable="rdma_network_hca",
            tag="rdma_network",
        ),
    ),
)
def rdma_link_below_rate(
    ports: RdmaPorts, config: NetworkConfig | None, gpus: Gpus | None, pcie: PcieTree | None, intent: Intent | None
) -> Iterator[Found | RuledOut]:
    """A linked RDMA port is slower than it should be: than 200 Gb/s on a Spark, elsewhere than its peers in the job."""
    spark = hardware_class(gpus, pcie, intent).value is HardwareClass.SPARK
    used = (config.conf.get("hcas", "") if config else "").split(",")
    linked = [p for p in ports.ports if p.active and (spark or p.device in used)]
    rates = {p.device: p.speed or p.rate for p in linked}
    best = rdma_network.SPARK_SPEED if spark else max((r for r in rates.values() if r), default=0.0)
    for port in linked:
        rate = rates[port.device]
        if rate is not None and rate < best:
            yield Found(
                subject=f"RDMA device {port.device}",
                message=f"its link runs at {rate:g} Gb/s and should run at {best:g}",
                evidence=(port.quote,),
                confidence=Confidence.CERTAIN,
            )
