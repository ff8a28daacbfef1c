"""Network interfaces and RDMA devices."""

from msgspec import Struct, field

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


class RdmaPort(Struct, frozen=True):
    """One port of an RDMA device (/sys/class/infiniband). Rates in Gb/s; None: not said."""

    device: str  # mlx5_0, rocep1s0f0
    port: int
    quote: Quote
    interface: str = ""  # its network interface
    address: str = ""  # of the PCI function: 0000:01:00.0
    active: bool = False
    rate: float | None = None
    ethernet: bool = False  # RoCE; else InfiniBand
    numa: int | None = None
    speed: float | None = None  # of the network interface


class RdmaPorts(Struct, frozen=True):
    """All RDMA ports of a host; empty where it has none."""

    ports: tuple[RdmaPort, ...]
    quote: Quote


class NetworkFile(Struct, frozen=True):
    """A file in which the host keeps addresses of RDMA interfaces. `ours` tells whether qops wrote it."""

    path: str
    ours: bool
    addresses: dict[str, str]  # interface to address with prefix length


class NetworkConfig(Struct, frozen=True):
    """Who configures the network, and what the role rdma_network left on the host.

    `managers` are those that could do it, the one to use first: netplan, NetworkManager, systemd-networkd.
    """

    quote: Quote
    managers: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    files: tuple[NetworkFile, ...] = ()
    default: tuple[str, ...] = ()  # interfaces with a default route
    wireless: tuple[str, ...] = ()
    conf: dict[str, str] = field(default_factory=dict)  # /etc/qops/rdma-network.conf
    environment: dict[str, str] | None = None  # /run/qops/nccl-rdma.env; None: there is none
