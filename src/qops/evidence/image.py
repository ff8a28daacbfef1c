"""The container images of a host, which of them the inventory wants there, and what lies in those."""

from msgspec import Struct

from qops.evidence.text import Quote


class Image(Struct, frozen=True):
    """One image. `size` in bytes, as unpacked."""

    id: str  # sha256:…
    quote: Quote
    engine: str = "docker"
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()  # NAME@sha256:…
    size: int = 0
    architecture: str = ""  # "amd64"
    cuda: str = ""  # CUDA_VERSION of its environment; "": it names none
    requires: str = ""  # NVIDIA_REQUIRE_CUDA of its environment


class Compat(Struct, frozen=True):
    """A compat libcuda in an image. `drivers`: the branches of host drivers that it says it works on."""

    path: str
    version: str
    drivers: tuple[int, ...] = ()


class Look(Struct, frozen=True):
    """What lies in an image. `kernels`: for which GPUs each Python package has code ("sm_90a", "compute_120")."""

    compat: tuple[Compat, ...] = ()
    kernels: dict[str, tuple[str, ...]] = {}
    packages: dict[str, str] = {}  # versions: "torch", "vllm", "nccl", …
    drivers: dict[str, str] = {}  # libcuda files of a driver that was installed in it, by path: "580.95.05"
    stubs: tuple[str, ...] = ()  # link-time stubs of libcuda under the name that programs load


class Candidate(Struct, frozen=True):
    """An image, or an unpacked one, that somebody means to run and has not started."""

    name: str
    quote: Quote
    cuda: str = ""  # "13.0.1"; "": it names none
    requires: str = ""  # NVIDIA_REQUIRE_CUDA of its environment
    architecture: str = ""  # "amd64"; "": not said
    loader: tuple[str, ...] = ()  # folders of compat or stub libraries that its loader is told of
    look: Look = Look()
    others: tuple[str, ...] = ()  # images of known recipes for these GPUs


class KeptImage(Struct, frozen=True):
    """An image that was brought here for a name; `digest` and `asked_id` are as the inventory had them."""

    local: str  # its id on this host
    digest: str = ""
    asked_id: str = ""


class WantedImage(Struct, frozen=True):
    """An image that is to be on the host, as the role wrote it down."""

    name: str
    image: str
    quote: Quote
    digest: str = ""
    id: str = ""


class Images(Struct, frozen=True):
    """All of it. `engine` is "" where there is none that answers, and `error` says what one that does not said."""

    engine: str = ""
    error: str = ""
    machine: str = ""  # "x86_64"
    images: tuple[Image, ...] = ()
    wanted: tuple[WantedImage, ...] = ()
    kept: dict[str, tuple[KeptImage, ...]] = {}  # by name, the newest first
    looked: dict[str, Look] = {}  # by the id of an image that was looked into
    quote: Quote | None = None
