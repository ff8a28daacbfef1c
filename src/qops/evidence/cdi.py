"""The NVIDIA container toolkit on a host: its specifications for CDI, its units, and what the kernel has."""

from msgspec import Struct, field

from qops.evidence.text import Quote


class CdiNode(Struct, frozen=True):
    """A device node that a specification gives to containers; `major` None where it leaves that to the engine."""

    path: str
    quote: Quote
    major: int | None = None


class CdiSpec(Struct, frozen=True):
    """One file of /etc/cdi or /var/run/cdi."""

    path: str
    quote: Quote
    kind: str = ""  # "nvidia.com/gpu"
    version: str = ""  # of the specification: "0.7.0"
    devices: tuple[str, ...] = ()
    nodes: tuple[CdiNode, ...] = ()
    driver: str = ""  # of the libcuda.so.VERSION that it mounts
    driver_quote: Quote | None = None

    @property
    def generated(self) -> bool:
        """Whether it lies where the refresh unit writes, and so wins over one in /etc/cdi."""
        return self.path.startswith(("/var/run/cdi/", "/run/cdi/"))


class CdiUnit(Struct, frozen=True):
    """A unit of the toolkit. Empty strings: systemd does not know it."""

    loaded: str = ""  # "loaded", "not-found"
    active: str = ""
    enabled: str = ""
    result: str = ""  # "success", "exit-code"


class AptSource(Struct, frozen=True):
    """A file of apt's or dnf's that names the toolkit's repository."""

    path: str
    quote: Quote


class Cdi(Struct, frozen=True):
    """The container toolkit and what it made. `version` is nvidia-ctk's; empty: it is not there."""

    version: str = ""
    specs: tuple[CdiSpec, ...] = ()
    majors: dict[str, int] = field(default_factory=dict)  # of /proc/devices: "nvidia-uvm" to 510
    nodes: dict[str, int] = field(default_factory=dict)  # device files that are there: "/dev/nvidia-uvm" to 510
    units: dict[str, CdiUnit] = field(default_factory=dict)  # "nvidia-cdi-refresh.path"
    no_cgroups: Quote | None = None  # the line of config.toml that says so
    sources: tuple[AptSource, ...] = ()
    quote: Quote | None = None

    def effective(self, kind: str = "nvidia.com/gpu") -> CdiSpec | None:
        """Return the specification that engines use: one in /var/run/cdi wins over one in /etc/cdi."""
        of_kind = [spec for spec in self.specs if spec.kind == kind and spec.devices]
        return next((spec for spec in of_kind if spec.generated), of_kind[0] if of_kind else None)
