"""Inventories read without Ansible: YAML and INI files with groups, ranges, and folders of variables beside them."""

import itertools
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qops.errors import UsageError
from qops.inventory.host import USED, Host, host

NEEDS = "pip install 'qops[provision]' (ansible-core then reads the inventory)"
MOST = 10_000  # hosts of one range
_RANGE = re.compile(r"\[([0-9]+|[a-zA-Z]):([0-9]+|[a-zA-Z])(?::([0-9]+))?\]")
_SECTION = re.compile(r"\[([^\[\]:]+)(?::(vars|children))?\]$")
_SUFFIXES = ("", ".yml", ".yaml", ".json")

Variables = dict[str, Any]


@dataclass(slots=True)
class Group:
    """A group while the inventory is read. `hosts` are its own; a dict keeps their order."""

    hosts: dict[str, None] = field(default_factory=dict)
    children: dict[str, None] = field(default_factory=dict)
    variables: Variables = field(default_factory=dict)


@dataclass(slots=True)
class Inventory:
    """What an inventory says. `folders` hold group_vars and host_vars."""

    source: str
    folder: Path
    groups: dict[str, Group] = field(default_factory=lambda: {"all": Group()})
    own: dict[str, Variables] = field(default_factory=dict)  # host name to its variables

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts, in the order of the file."""
        return tuple(self.own)

    def members(self, name: str) -> tuple[str, ...]:
        """Return the hosts of a group and of the groups below it."""
        return self.hosts if name == "all" else tuple(h for g in self._below(name) for h in self.groups[g].hosts)

    def host(self, name: str, also: Collection[str] = ()) -> Host:
        """Return one host with its variables `also`.

        The variables of a group weigh less than those of a group in it, a host's own most.
        """
        depths = {g: d for g, d in self._depths().items() if name in self.members(g)}
        merged: Variables = {}
        for group in sorted(depths, key=lambda g: (depths[g], g)):
            merged |= self.groups[group].variables | self._beside("group_vars", group)
        merged |= self.own[name] | self._beside("host_vars", name)
        told = {key: self._plain(name, key, merged[key]) for key in USED if merged.get(key) is not None}
        others = {key: self._untemplated(name, key, merged[key]) for key in also if key in merged}
        return host(name, told, frozenset(depths), others)

    def add(self, group: str, name: str) -> Variables:
        """Put a host into a group, and return its variables."""
        self.groups.setdefault(group, Group()).hosts[name] = None
        return self.own.setdefault(name, {})

    def _below(self, name: str) -> dict[str, None]:
        found: dict[str, None] = {}
        left = [name]
        while left:
            group = left.pop(0)
            if group not in found:  # groups that hold each other are Ansible's to refuse
                found[group] = None
                left += self.groups[group].children
        return found

    def _depths(self) -> dict[str, int]:
        depths = dict.fromkeys(self.groups, 1) | {"all": 0}
        for _ in range(len(self.groups)):
            for name, child in ((n, c) for n, g in self.groups.items() for c in g.children):
                if child != "all" and len(depths) > depths[name] >= depths[child]:
                    depths[child] = depths[name] + 1
        return depths

    def _beside(self, kind: str, name: str) -> Variables:
        found: Variables = {}
        for suffix in _SUFFIXES:
            path = self.folder / kind / f"{name}{suffix}"
            files = sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]
            for file in files:
                if file.is_file() and (file == path or file.suffix in _SUFFIXES):
                    found |= _mapping(_yaml(_text(file), file), file)
        return found

    def _plain(self, name: str, key: str, value: object) -> str:
        if isinstance(value, (dict, list)):
            raise UsageError(f"host {name} in {self.source}: {key} is no text", "give a text or a number")
        return str(self._untemplated(name, key, value))

    def _untemplated(self, name: str, key: str, value: object) -> object:
        text = str(value)
        if "{{" in text or "{%" in text:
            raise UsageError(f"host {name} in {self.source}: {key} is a template, which takes ansible-core", NEEDS)
        return value


def read(source: str) -> Inventory:
    """Read the inventory `source`. Raises UsageError for what is damaged, and for what takes ansible-core."""
    path = Path(source)
    if "," in source and not path.exists():
        inventory = Inventory(source, Path())
        for name in (part.strip() for part in source.split(",")):
            for one in expanded(name, source) if name else ():
                inventory.add("ungrouped", one)
        return inventory
    if not path.exists():
        raise UsageError(f"there is no inventory {source}", "qops lab inventory >lab.yml makes one for the lab")
    if path.is_dir():
        raise UsageError(f"{source} is a folder of inventories, which takes ansible-core", NEEDS)
    if path.is_file() and os.access(path, os.X_OK) and path.read_bytes()[:2] == b"#!":
        raise UsageError(f"{source} is a program that makes an inventory, which takes ansible-core", NEEDS)
    text = _text(path)
    inventory = Inventory(source, path.parent)
    if path.suffix in (".yml", ".yaml", ".json") or not (path.suffix == ".ini" or _looks_like_ini(text)):
        _read_yaml(inventory, _mapping(_yaml(text, path), path))
    else:
        _read_ini(inventory, text)
    return inventory


def _looks_like_ini(text: str) -> bool:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith(("#", ";"))]
    return any(_SECTION.match(line) for line in lines) or not any(line.endswith((":", "}")) for line in lines)


def _read_yaml(inventory: Inventory, top: Mapping[str, Any]) -> None:
    if "plugin" in top:
        raise UsageError(f"{inventory.source} names the plug-in {top['plugin']}, which takes ansible-core", NEEDS)
    left = list(top.items())
    for _ in range(MOST):  # a group may hold itself through an alias
        if not left:
            return
        name, content = left.pop(0)
        group = inventory.groups.setdefault(str(name), Group())
        for key, value in _mapping(content, inventory.source).items():
            entries = _mapping(value, f"{inventory.source}: {name}.{key}")
            if key == "hosts":
                for pattern, variables in entries.items():
                    for one in expanded(str(pattern), inventory.source):
                        inventory.add(str(name), one).update(_mapping(variables, inventory.source))
            elif key == "children":
                group.children |= {str(child): None for child in entries}
                left += entries.items()
            elif key == "vars":
                group.variables |= entries
            else:
                raise UsageError(f"{inventory.source}: group {name} has {key!r}; a group has hosts, children and vars")
    raise UsageError(f"{inventory.source} has more than {MOST} groups")


def _read_ini(inventory: Inventory, text: str) -> None:
    import shlex

    name, kind = "ungrouped", "hosts"
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith(("#", ";")):
            continue
        where = f"{inventory.source}:{number}"
        if section := _SECTION.match(line):
            name, kind = section[1].strip(), section[2] or "hosts"
            inventory.groups.setdefault(name, Group())
            continue
        group = inventory.groups.setdefault(name, Group())
        if kind == "children":
            group.children[line] = None
            inventory.groups.setdefault(line, Group())
        elif kind == "vars":
            key, equals, value = line.partition("=")
            if not equals:
                raise UsageError(f"{where}: a variable is written name=value: {line}")
            group.variables[key.strip()] = _value(value.strip())
        else:
            try:
                words = shlex.split(line, comments=True)
            except ValueError as error:
                raise UsageError(f"{where}: {error}: {line}") from None
            pairs = dict(word.partition("=")[::2] for word in words[1:])
            for one in expanded(words[0], where):
                inventory.add(name, one).update(pairs)


def _value(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def expanded(pattern: str, where: object) -> Iterator[str]:
    """Yield the hosts of a name with ranges: `gpu[01:16]`, `node-[a:d]`, `n[0:8:2]`."""
    parts: list[list[str]] = []
    at = 0
    count = 1
    for found in _RANGE.finditer(pattern):
        begin, end, step = found[1], found[2], int(found[3] or 1)
        if begin.isdigit() != end.isdigit() or step < 1 or max(len(begin), len(end)) > 9:
            raise UsageError(f"{where}: {found[0]} is no range")
        if begin.isdigit():
            names = [
                str(n).zfill(len(begin)) for n in itertools.islice(range(int(begin), int(end) + 1, step), MOST + 1)
            ]
        else:
            names = [chr(n) for n in range(ord(begin), ord(end) + 1, step)]
        count *= len(names)
        if count > MOST:
            raise UsageError(f"{where}: {pattern} names more than {MOST} hosts")
        parts += [[pattern[at : found.start()]], names]
        at = found.end()
    for words in itertools.product(*parts, [pattern[at:]]):
        yield "".join(words)


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{path} cannot be read: {reason}") from None
    if text.startswith("$ANSIBLE_VAULT") or "!vault" in text:
        raise UsageError(f"{path} is encrypted by ansible-vault, which takes ansible-core", NEEDS)
    return text


def _yaml(text: str, where: object) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"{where} is not YAML: {' '.join(str(error).split())[:200]}") from None


def _mapping(value: Any, where: object) -> Variables:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{where}: a mapping of names is expected, not {str(value)[:40]!r}")
    return value
