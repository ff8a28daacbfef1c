"""Scenarios: which hosts there are and what hardware they show, one YAML file each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qops.errors import UsageError

if TYPE_CHECKING:
    from yaml import Node

CLASSES = ("spark", "rtxpro", "rtx5090", "hgx")
BASES = ("debian12", "debian13")
ENGINES = ("vllm",)

_HOST_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


@dataclass(frozen=True, slots=True)
class ScenarioHost:
    """One host of a scenario."""

    name: str
    base: str
    docker: bool
    packages: bool = False  # whether it uses the lab's package repository
    registry: bool = False  # whether its Docker trusts the lab's registry


@dataclass(frozen=True, slots=True)
class Scenario:
    """A set of hosts of one hardware class. `hardware` is the simulator's own, passed on as it is."""

    name: str
    about: str
    hardware_class: str
    hosts: tuple[ScenarioHost, ...]
    hardware: Mapping[str, Any]
    source: str  # what `load` finds it by: its name, or the path of a file
    engine: str = ""  # the serving engine that its hosts have; "": none


def folder() -> Path:
    """Return the folder of the scenarios that come with qops."""
    return Path(str(resources.files("qops.data"))) / "scenarios"


def names() -> tuple[str, ...]:
    """Return the names of the scenarios that come with qops."""
    return tuple(sorted(path.stem for path in folder().glob("*.yaml")))


def load(name: str) -> Scenario:
    """Read a scenario by its name, or by the path of a file that ends in .yaml; UsageError if it is wrong."""
    if name.endswith((".yaml", ".yml")) or "/" in name:
        path = Path(name).resolve()
        source = str(path)
    else:
        path = folder() / f"{name}.yaml"
        source = name
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = ", ".join(names()) or "none"
        raise UsageError(f"there is no scenario {name}", f"qops lab list; known: {known}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read scenario {path}: {error}") from error
    return parse(text, str(path), source)


def parse(text: str, origin: str, source: str) -> Scenario:
    """Read a scenario from its text. `origin` stands in errors, before the line."""
    import yaml

    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 0
        raise UsageError(f"{origin}:{line}: not YAML: {getattr(error, 'problem', None) or error}") from error
    if tree is None:
        raise UsageError(f"{origin}:1: the scenario is empty")
    top = _Reader(origin, tree, values, "the scenario")
    top.only("name", "about", "class", "hosts", "engine", "hardware")
    hosts = tuple(_host(one) for one in top.items("hosts"))
    if len({host.name for host in hosts}) != len(hosts):
        raise top.wrong("hosts", "two hosts have one name")
    hardware = top.value("hardware")
    if not isinstance(hardware, dict):
        raise top.wrong("hardware", "must be a mapping")
    return Scenario(
        name=top.word("name", _HOST_NAME),
        about=top.sentence("about"),
        hardware_class=top.one_of("class", CLASSES),
        hosts=hosts,
        hardware=hardware,
        source=source,
        engine=top.one_of("engine", ENGINES) if "engine" in top.values else "",
    )


def _host(one: "_Reader") -> ScenarioHost:
    one.only("name", "base", "docker", "packages", "registry")
    docker = one.truth("docker")
    packages, registry = (one.truth(key, otherwise=docker) for key in ("packages", "registry"))
    return ScenarioHost(one.word("name", _HOST_NAME), one.one_of("base", BASES), docker, packages, registry)


class _Reader:
    """One mapping of the file, with the lines of its keys for the errors."""

    def __init__(self, origin: str, node: "Node", values: object, what: str) -> None:
        self.origin, self.node, self.what = origin, node, what
        if not isinstance(values, dict):
            raise UsageError(f"{origin}:{node.start_mark.line + 1}: {what} must be a mapping")
        self.values: dict[object, Any] = values
        self.nodes: dict[str, Node] = {key.value: value for key, value in node.value}
        self.lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}

    def wrong(self, key: str, why: str) -> UsageError:
        line = self.lines.get(key, self.node.start_mark.line + 1)
        return UsageError(f"{self.origin}:{line}: {key} {why}", "docs/lab.md describes the keys")

    def only(self, *known: str) -> None:
        for key in self.values:
            if key not in known:
                raise self.wrong(str(key), f"is not a key of {self.what}; known: {', '.join(known)}")

    def value(self, key: str) -> Any:
        if key not in self.values:
            raise self.wrong(key, f"is missing from {self.what}")
        return self.values[key]

    def truth(self, key: str, *, otherwise: bool | None = None) -> bool:
        found = self.value(key) if otherwise is None else self.values.get(key, otherwise)
        if not isinstance(found, bool):
            raise self.wrong(key, "must be true or false")
        return found

    def items(self, key: str) -> tuple["_Reader", ...]:
        found = self.value(key)
        if not isinstance(found, list) or not found:
            raise self.wrong(key, "must be a list with at least one entry")
        pairs = zip(self.nodes[key].value, found, strict=True)
        return tuple(_Reader(self.origin, node, value, f"an entry of {key}") for node, value in pairs)

    def sentence(self, key: str) -> str:
        found = self.value(key)
        if not isinstance(found, str) or not found.strip():
            raise self.wrong(key, "must be a text")
        return found.strip()

    def word(self, key: str, pattern: re.Pattern[str]) -> str:
        found = self.value(key)
        if not isinstance(found, str) or not pattern.fullmatch(found):
            raise self.wrong(
                key, f"is {found!r}: use lower-case letters, digits and hyphens, a letter first, 31 at most"
            )
        return found

    def one_of(self, key: str, allowed: tuple[str, ...]) -> str:
        found = self.value(key)
        if found not in allowed:
            raise self.wrong(key, f"is {found!r}: use one of {', '.join(allowed)}")
        return str(found)
