"""What the package manager says is installed, held and half done."""

from msgspec import Struct, field

from qops.evidence.text import Quote


class Package(Struct, frozen=True):
    """One package. `version` is empty where only its configuration is left."""

    name: str
    version: str = ""
    architecture: str = ""
    held: bool = False  # dpkg's selection "hold", dnf's versionlock
    whole: bool = True  # False: half installed, half configured, triggers pending, or only its configuration is left


class Packages(Struct, frozen=True):
    """All packages of a host, by name (of several architectures, the host's own)."""

    manager: str  # "dpkg" | "rpm"
    packages: dict[str, Package] = field(default_factory=dict)
    quote: Quote | None = None

    def version(self, name: str) -> str:
        """Return the version that is installed, or "" for none."""
        package = self.packages.get(name)
        return package.version if package and package.whole else ""

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The packages that an interrupted installation left half done: apt does nothing before they are finished."""
        return tuple(p.name for p in self.packages.values() if p.version and not p.whole)
