"""Which options and variables each release of vLLM and SGLang knows, merged as changes.

The JSON files are made by `script/read-engine-flags` out of the published wheels. Each name has a list of states; a
state holds from its release on, until the next state. `gone` ends a name.
"""

from functools import cache
from pathlib import Path

import msgspec

ENGINES = ("vllm", "sglang")


class Option(msgspec.Struct, frozen=True, omit_defaults=True):
    """A state of an option.

    `kind` is what it takes: switch (nothing), bool (nothing, and has names that switch it off), str, int, float, json,
    json-or-str, size (256k), size-or-auto. `open` choices are looked up after parsing, and plug-ins can add to them.
    `fold`: choices are compared in lower case, with underscores. `fails`: it is still parsed, only to be refused.
    `config` names the configuration whose keys its JSON may have.
    """

    since: str
    gone: bool = False
    kind: str = "str"
    also: tuple[str, ...] = ()
    off: tuple[str, ...] | None = None
    nargs: str = ""
    choices: tuple[str, ...] = ()
    open: bool = False
    fold: bool = False
    default: str = ""
    deprecated: bool = False
    fails: bool = False
    instead: str = ""
    config: str = ""

    def negations(self, name: str) -> tuple[str, ...]:
        """Return the names that switch `name` off."""
        if self.kind != "bool":
            return ()
        if self.off is not None:
            return self.off
        return tuple(f"--no-{one[2:]}" for one in (name, *self.also) if one.startswith("--"))


class Key(msgspec.Struct, frozen=True, omit_defaults=True):
    """A state of a key in an option's JSON."""

    since: str
    gone: bool = False
    choices: tuple[str, ...] = ()


class Variable(msgspec.Struct, frozen=True, omit_defaults=True):
    """A state of an environment variable."""

    since: str
    gone: bool = False
    choices: tuple[str, ...] = ()
    fold: bool = False
    deprecated: bool = False
    instead: str = ""


class Engine(msgspec.Struct, frozen=True):
    """All that is known of an engine: the releases that were read, oldest first, and the states of each name."""

    engine: str
    versions: tuple[str, ...]
    options: dict[str, tuple[Option, ...]]
    configs: dict[str, dict[str, tuple[Key, ...]]]
    variables: dict[str, tuple[Variable, ...]]


@cache
def load(engine: str) -> Engine:
    """Return the data of `engine`, one of ENGINES."""
    path = Path(__file__).parent / f"{engine}.json"
    return msgspec.json.decode(path.read_bytes(), type=Engine)


def order(version: str) -> tuple[int, ...]:
    """Return what sorts releases: 0.5.10 < 0.5.10.post1 < 0.5.11. Raises ValueError for what is no release."""
    release, _, post = version.partition(".post")
    numbers = [int(part) for part in release.split(".")]
    return (*numbers, *[0] * (4 - len(numbers)), int(post or 0))
