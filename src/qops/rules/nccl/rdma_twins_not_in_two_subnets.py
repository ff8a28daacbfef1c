"""NCL060: the two functions of a Spark's linked port have no addresses in subnets of their own."""

from collections.abc import Iterator

from qops.derive import rdma_network
from qops.derive.hardware_class import HardwareClass, hardware_class
from qops.evidence.gpu import Gpus
from qops.evidence.intent import Intent
from qops.evidence.network import Network, RdmaPorts
from qops.evidence.pcie import PcieTree
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "NCL060",
    "rdma-twins-not-in-two-subnets",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "give both functions of the port an address, each in a subnet of its own, the same two on every host",
            commands=("ansible-playbook site.yml --tags rdma_network --limit HOST", "ip -br -4 address"),
            risk="a link that changes its addresses is down for a moment",
            variable="rdma_network_hosts",
            tag="rdma_network",
        ),
    ),
)
def rdma_twins_not_in_two_subnets(
    ports: RdmaPorts, network: Network, gpus: Gpus | None, pcie: PcieTree | None, intent: Intent | None
) -> Iterator[Found | RuledOut]:
    """The two functions of a Spark's linked port have no addresses in subnets of their own."""
    if hardware_class(gpus, pcie, intent).value is not HardwareClass.SPARK:
        return
    for twins in rdma_network.twins([p for p in ports.ports if p.active and p.ethernet]):
        has = [rdma_network.addresses(network, p.interface) or () for p in twins]
        subject = f"interfaces {twins[0].interface} and {twins[1].interface}"
        evidence = tuple(next((i.quote for i in network.interfaces if i.name == p.interface), p.quote) for p in twins)
        without = [p.interface for p, addresses in zip(twins, has, strict=True) if not addresses]
        both = rdma_network.same_subnet(*has)
        if len(without) == 1:  # without any, nobody set the link up
            message = f"{without[0]} has no address, so half of the port's rate is left"
            yield Found(subject, message, evidence, Confidence.CERTAIN)
        elif both:
            message = f"both are in {both}, so that replies may leave by the other one and connections fail"
            yield Found(subject, message, evidence, Confidence.LIKELY)
