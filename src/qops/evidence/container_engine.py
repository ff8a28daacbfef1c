"""The container engines of a host: which are there, how docker is configured, and what the daemon says of itself."""

from msgspec import Struct

from qops.evidence.text import Quote


class DaemonJson(Struct, frozen=True):
    """/etc/docker/daemon.json as it is. `lines` are its text; `quote` is its first line."""

    lines: tuple[str, ...]
    quote: Quote
    modified: int = 0  # seconds since 1970


class DaemonFlag(Struct, frozen=True):
    """An option that a unit or an environment file passes to dockerd; `name` without dashes."""

    name: str
    quote: Quote


class DockerInfo(Struct, frozen=True):
    """What `docker info` says. All empty: the daemon did not answer."""

    version: str = ""
    runtimes: tuple[str, ...] = ()
    cdi_folders: tuple[str, ...] = ()  # empty: CDI is off, or this docker does not know it
    live_restore: bool = False
    cgroup_driver: str = ""  # "systemd", "cgroupfs"
    running: int = 0  # containers
    error: str = ""
    quote: Quote | None = None


class ContainerEngine(Struct, frozen=True):
    """Docker and podman on a host. Empty strings: not there."""

    vendor_image: bool = False  # /etc/dgx-release: the vendor's system, which owns driver and docker
    docker: str = ""  # path of the client, links resolved
    podman: str = ""  # version
    daemon_json: DaemonJson | None = None
    flags: tuple[DaemonFlag, ...] = ()
    unit: str = ""  # "loaded", "not-found", "masked"
    active: str = ""  # "active", "inactive", "failed"
    enabled: str = ""  # "enabled", "disabled"
    started: int | None = None  # seconds since 1970; None: it does not run
    info: DockerInfo = DockerInfo()
    quote: Quote | None = None

    @property
    def behind(self) -> bool:
        """Whether daemon.json is newer than the daemon that runs."""
        return self.daemon_json is not None and self.started is not None and self.daemon_json.modified > self.started
