"""Who listens on a host, and what keeps others away."""

from msgspec import Struct, field

from qops.evidence.text import Quote


class Listener(Struct, frozen=True):
    """One port that a program listens on."""

    protocol: str  # "tcp" | "udp"
    address: str  # "*" for all addresses of both families, "0.0.0.0", "::", or one address without its interface
    port: int
    quote: Quote
    process: str = ""  # the program's short name; "" where the kernel itself listens, or when not asked as root

    @property
    def everywhere(self) -> bool:
        """Whether it takes connections on every address of the host."""
        return self.address in ("*", "0.0.0.0", "::")  # noqa: S104 - what a program did, not what we do


class Listeners(Struct, frozen=True):
    """All listening ports, and the ports on which SSH is served or has a session now."""

    listeners: tuple[Listener, ...]
    ssh: tuple[int, ...] = ()
    quote: Quote | None = None


class Firewall(Struct, frozen=True):
    """The table of qops in the kernel's packet filter, and what else filters here.

    `loaded` is None when the kernel did not say (not root). `sets` are the table's sets by name, each element as
    nft prints it. `others` names firewalld, ufw, and a chain that drops what comes in; `docker_user` is whether
    somebody filters published ports in Docker's own chain.
    """

    installed: bool  # whether nft is there
    loaded: bool | None = None
    digest: str = ""  # of the rules, as the role wrote it into the table's comment
    sets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    drops: int = 0  # rules of the table that drop
    others: tuple[str, ...] = ()
    docker_user: bool = False
    manager: str = ""  # "apt" | "dnf"
    quote: Quote | None = None
