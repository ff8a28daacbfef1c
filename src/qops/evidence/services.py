"""System services and what systemd keeps for them."""

from msgspec import Struct, field

from qops.evidence.text import Quote


class Service(Struct, frozen=True):
    """A unit as systemd shows it. Memory in bytes."""

    name: str
    loaded: bool = False  # systemd finds it
    active: bool = False
    enabled: bool = False
    memory_min: int | None = None
    memory_low: int | None = None

    @property
    def at_work(self) -> bool:
        """Whether it runs, or will at the next boot where its conditions hold."""
        return self.active or self.enabled


class Services(Struct, frozen=True):
    """The services that keep a host reachable and on time. None: the host did not say."""

    units: dict[str, Service]
    quote: Quote
    watchdog_devices: tuple[str, ...] = ()  # their identities: "SBSA Generic Watchdog"
    watchdog: str = ""  # RuntimeWatchdogUSec in force: "0" for off, "1min"
    watchdog_configured: str = ""  # RuntimeWatchdogSec of the files, in force after a reexec of systemd
    watchdog_ours: str = ""  # what the role host_tuning configured
    synchronised: bool | None = None  # the kernel's word on the clock
    unified_cgroups: bool | None = None  # version 2, which protects memory
    memlock: dict[str, str] = field(default_factory=dict)  # limits.conf: "*" to "unlimited"
    raises_limits: bool | None = None  # whether root may lift a limit; a container may not
    rdma_devices: tuple[str, ...] = ()
    package_manager: str = ""  # dpkg, rpm

    def unit(self, *names: str) -> Service | None:
        """Return the first of these units that systemd finds."""
        return next((u for n in names if (u := self.units.get(n)) and u.loaded), None)
