"""An engine as a file or a host starts it, before it is said in an inventory's words."""

from collections.abc import Callable
from dataclasses import dataclass, field

from qops.flags.command import Assignment
from qops.flags.shell import Word
from qops.redaction import Redactor

Reader = Callable[[str], str | None]
"""Returns the text of a file that another one names, by its absolute path; None where it cannot be read."""

_LONGEST = 80  # characters of a value that a remark repeats


@dataclass(frozen=True, slots=True)
class Left:
    """Something that was not taken over, or was taken over otherwise. `what` as it is written, without its secret."""

    where: str
    what: str
    because: str


@dataclass(frozen=True, slots=True)
class Volume:
    """A folder or file of the host in a container."""

    source: str
    target: str
    writable: bool
    line: int


@dataclass(slots=True)
class Found:
    """One engine. `words` is what a container gets, or a whole command with its program.

    `gpus` are indexes and UUIDs, or "all"; None: nobody said. `visible`: NVIDIA_VISIBLE_DEVICES says which.
    """

    source: str
    line: int
    name: str = ""
    runtime: str = "venv"
    image: str = ""
    words: list[Word] = field(default_factory=list)
    environment: dict[str, Assignment] = field(default_factory=dict)
    published: list[Word] = field(default_factory=list)
    volumes: list[Volume] = field(default_factory=list)
    gpus: list[str] | None = None
    visible: bool = False
    network: str = ""
    user: str = ""
    version: str = ""  # the engine's release, where something other than the image's tag says it
    left: list[Left] = field(default_factory=list)

    def where(self, line: int) -> str:
        """Return how a line of this source is named."""
        return f"{self.source}:{line}" if line else self.source

    def leave(self, line: int, what: str, because: str) -> None:
        """Note what is not taken over."""
        self.left.append(Left(self.where(line), what, because))

    def set(self, name: str, value: str, line: int) -> None:
        """Set a variable of the engine; the last one holds."""
        self.environment[name] = Assignment(name, value, line)


def shown(name: str, value: str) -> str:
    """Return a setting with its value as a remark may repeat it: without one that is long, or holds a secret."""
    text = f"{name}{value}" if name.endswith("=") else f"{name} {value}".strip()
    encoded = text.encode("utf-8", "surrogateescape")
    return text if len(text) <= _LONGEST and text.isprintable() and Redactor()(encoded) == encoded else name.rstrip("=")
