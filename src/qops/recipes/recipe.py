"""What a recipe is: everything that serves one model with one engine on one kind of machine."""

from collections.abc import Mapping
from typing import Any

import msgspec

from qops.recipes.versions import Range


class Model(msgspec.Struct, frozen=True):
    """A checkpoint. `revision` is a commit of 40 hexadecimal digits, or None with `because`. `bytes` of its files."""

    repository: str
    revision: str | None = None
    because: str = ""
    bytes: int | None = None
    source: str = ""  # of `bytes`
    overlays: tuple[Mapping[str, Any], ...] = ()  # as the role model_store takes them

    @property
    def folder(self) -> str:
        """The folder's name below the root of the model store."""
        return self.repository.replace("/", "--")


class Engine(msgspec.Struct, frozen=True):
    """`vllm` or `sglang`, and the releases that take the recipe's options."""

    name: str
    versions: Range


class Image(msgspec.Struct, frozen=True):
    """An image by tag or digest, and why this one. `cuda` is the version in it, where that is known."""

    name: str
    because: str
    cuda: str = ""


class Hardware(msgspec.Struct, frozen=True):
    """The machine. `memory_gib` is of each GPU; `paths` how the source's GPUs reach each other (nvidia-smi topo -m)."""

    hardware_class: str
    gpus: int
    memory_gib: int
    paths: str = ""


class Flag(msgspec.Struct, frozen=True):
    """An option of the engine; `value` None: it takes none."""

    name: str
    value: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The option as words of a command."""
        return (self.name,) if self.value is None else (self.name, self.value)


class Template(msgspec.Struct, frozen=True):
    """A chat template of one's own. `file` is a path on the host; None: somebody has to bring it."""

    file: str | None
    because: str


class Dropped(msgspec.Struct, frozen=True):
    """What the source has and the recipe has not, or under another name."""

    what: str
    because: str
    instead: str = ""


class Figure(msgspec.Struct, frozen=True):
    """A published figure: somebody else's measurement, and no promise."""

    what: str
    value: str
    source: str


class Recipe(msgspec.Struct, frozen=True):
    """A recipe. `place` is its file and line. `gpus` are the indexes of the GPUs, where it says which."""

    name: str
    about: str
    place: str
    model: Model
    engine: Engine
    image: Image
    hardware: Hardware
    served_name: str
    port: int
    flags: tuple[Flag, ...] = ()
    environment: Mapping[str, str] = {}
    by_hand: Mapping[str, str] = {}  # what the source tells NCCL and the processor; a plan reviews it
    chat_template: Template | None = None
    gpus: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    figures: tuple[Figure, ...] = ()
    retired: str = ""  # why nobody should serve with it any more
    extends: str = ""

    def flag(self, *names: str) -> str | None:
        """Return the value of an option under any of its names; "" for one without a value, None where it is not."""
        return next((one.value or "" for one in self.flags if one.name in names), None)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words after the model."""
        return tuple(word for one in self.flags for word in one.words)
