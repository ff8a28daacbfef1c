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
    gpus_by: str = ""  # "cdi", "devices" (--device), "gpus" (--gpus), "runtime"; "": none, or nobody said
    environment: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()


class Containers(Struct, frozen=True):
    """All containers seen."""

    containers: tuple[Container, ...]


class ContainerGpus(Struct, frozen=True):
    """What `nvidia-smi -L` said inside a running container that was given GPUs."""

    container: str
    quote: Quote  # the line that counts: NVML's error, else the first GPU, else the question
    listed: int = 0
    error: str = ""  # NVML's words after "Failed to initialize NVML: "
    reloads: tuple[Quote, ...] = ()  # systemd was reloaded since the container was started


class GpusInContainers(Struct, frozen=True):
    """All containers that were asked."""

    views: tuple[ContainerGpus, ...]
