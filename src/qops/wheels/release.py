"""What one release of an engine accepts."""

from dataclasses import dataclass

from qops.wheels.option import Option


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that a release reads. `fold`: its choices are compared without case."""

    choices: tuple[str, ...] = ()
    fold: bool = False
    deprecated: bool = False
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """Options, the keys (with choices) of what an option takes as JSON, and variables."""

    options: list[Option]
    configs: dict[str, dict[str, tuple[str, ...]]]
    variables: dict[str, Variable]
