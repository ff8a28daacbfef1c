"""Network interfaces and RDMA devices."""

from dataclasses import dataclass

from qops.evidence.text import Quote


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface (`ip -o addr`, `ip link`)."""

    name: str
    quote: Quote
    up: bool | None = None
    mtu: int | None = None
    addresses: tuple[str, ...] = ()  # with prefix length


@dataclass(frozen=True, slots=True)
class Gid:
    """One entry of an RDMA device's GID table."""

    device: str
    port: int
    index: int
    gid: str
    kind: str  # "RoCE v1", "RoCE v2", "IB"; "" when not said
    quote: Quote
    interface: str = ""


@dataclass(frozen=True, slots=True)
class Network:
    """Interfaces and GIDs seen."""

    interfaces: tuple[Interface, ...] = ()
    gids: tuple[Gid, ...] = ()
    rdma: tuple[tuple[str, str], ...] = ()  # (mlx5_0, ens1f0), as ibdev2netdev pairs them
