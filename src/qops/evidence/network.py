"""Network interfaces and RDMA devices."""

from msgspec import Struct

from qops.evidence.text import Quote


class Interface(Struct, frozen=True):
    """A network interface (`ip -o addr`, `ip link`)."""

    name: str
    quote: Quote
    up: bool | None = None
    mtu: int | None = None
    addresses: tuple[str, ...] = ()  # with prefix length


class Gid(Struct, frozen=True):
    """One entry of an RDMA device's GID table."""

    device: str
    port: int
    index: int
    gid: str
    kind: str  # "RoCE v1", "RoCE v2", "IB"; "" when not said
    quote: Quote
    interface: str = ""


class Network(Struct, frozen=True):
    """Interfaces and GIDs seen."""

    interfaces: tuple[Interface, ...] = ()
    gids: tuple[Gid, ...] = ()
    rdma: tuple[tuple[str, str], ...] = ()  # (mlx5_0, ens1f0), as ibdev2netdev pairs them
