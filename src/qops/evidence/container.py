"""Containers as `docker inspect` or `podman inspect` describe them."""

from msgspec import Struct

from qops.evidence.text import Quote


class Container(Struct, frozen=True):
    """One container. Sizes in bytes; None: not said."""

    name: str
    quote: Quote
    image: str = ""
    running: bool | None = None
    exit_code: int | None = None
    oom_killed: bool | None = None
    runtime: str = ""
    shm_size: int | None = None
    ipc_mode: str = ""
    network_mode: str = ""
    pid: int | None = None
    restart: str = ""
    memlock: int | None = None  # -1: unlimited
    capabilities: tuple[str, ...] = ()
    gpus_requested: bool | None = None  # by --gpus, a runtime or a CDI device
    environment: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()


class Containers(Struct, frozen=True):
    """All containers seen."""

    containers: tuple[Container, ...]
