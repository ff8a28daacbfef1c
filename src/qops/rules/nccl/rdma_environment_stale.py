"""NCL062: what NCCL is told of the RDMA ports does not fit the ports."""

from collections.abc import Iterator

from qops.derive import p2p, rdma_network
from qops.evidence.network import Network, NetworkConfig, RdmaPorts
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "NCL062",
    "rdma-environment-stale",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "resolve it again, then restart what serves; the unit's log says what is missing",
            commands=("systemctl restart qops-rdma-env.service", "journalctl -b -u qops-rdma-env.service"),
            variable="rdma_network_hca",
            tag="rdma_network",
        ),
    ),
)
def rdma_environment_stale(
    config: NetworkConfig, ports: RdmaPorts | None, network: Network | None
) -> Iterator[Found | RuledOut]:
    """What the unit qops-rdma-env tells NCCL of the RDMA ports is missing, or does not fit them any more."""
    devices = [d for d in config.conf.get("hcas", "").split(",") if d]
    if not devices:
        return
    told = config.environment
    if told is None:
        message = "there is no /run/qops/nccl-rdma.env: the unit qops-rdma-env did not start, or found no common GID"
        yield Found("RDMA environment", message, (config.quote,), Confidence.CERTAIN)
        return
    linked = {p.device for p in ports.ports if p.active} if ports else None
    down = [d for d in devices if linked is not None and d not in linked]
    if down:
        message = f"NCCL_IB_HCA names {', '.join(down)}, which is not linked"
        yield Found("RDMA environment", message, (config.quote,), Confidence.CERTAIN)
    index = told.get("NCCL_IB_GID_INDEX")
    if index is None or network is None or not network.gids:
        return
    for device in devices:
        entry = next((g for g in network.gids if g.device == device and g.index == p2p.number(index)), None)
        if entry is None or not rdma_network.ipv4_gid(entry.gid) or entry.kind == "RoCE v1":
            message = f"NCCL_IB_GID_INDEX={index} is no RoCE v2 address of {device} any more"
            yield Found("RDMA environment", message, (config.quote,), Confidence.CERTAIN)
