"""The inference services that the role inference_service set up on a host, and how each is."""

from msgspec import Struct, field

from qops.evidence.text import Quote


class InferenceService(Struct, frozen=True):
    """One service. `on_disk` and `started` map its files to their sha256: now, and at the last start."""

    name: str
    quote: Quote
    loaded: bool = False  # systemd knows the unit
    active: str = ""  # "active", "activating", "inactive", "failed"; "": systemd did not say
    sub: str = ""  # "running", "auto-restart", …
    result: str = ""  # "success", "exit-code", "signal", …
    status: int | None = None  # exit status of the last engine that ended
    restarts: int = 0  # by systemd, since it was started by hand or at boot
    ready: bool = False  # a token came since this start
    failures: int = 0  # looks of the watch in a row without a token, since it was ready
    held: str = ""  # why it is not started by itself
    watched: bool = False  # its timer runs
    stale: bool = False  # systemd has an older unit in mind than the disk
    secret_changed: bool = False  # since it was started
    moved: tuple[str, ...] = ()  # what else differs since then: "image NAME from ID to ID", the path of a template
    on_disk: dict[str, str] = field(default_factory=dict)
    started: dict[str, str] = field(default_factory=dict)
    incident: str = ""  # the newest folder of what a hung engine looked like

    @property
    def up(self) -> bool:
        """Whether an engine runs, or is started again by itself."""
        return self.active in ("active", "activating", "reloading", "deactivating")


class InferenceServices(Struct, frozen=True):
    """All of them."""

    services: dict[str, InferenceService]
    quote: Quote | None = None
