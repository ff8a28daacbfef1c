"""Where an inventory gives which variable: every name with its value, its file and its line."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qops.errors import UsageError
from qops.inventory.files import expanded

IGNORED = (".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".orig", ".cfg", ".retry", ".txt", ".csv")
_VARIABLES = ("group_vars", "host_vars")
_YAML = (".yml", ".yaml", ".json")


class Vaulted:
    """Stands for a value that ansible-vault keeps."""

    def __repr__(self) -> str:
        return "(vaulted)"


VAULTED = Vaulted()


@dataclass(frozen=True, slots=True)
class Declared:
    """One variable where it is given. `typed` is False in INI files, where everything may be written as a text."""

    name: str
    value: Any
    file: str
    line: int
    group: str = ""  # the group whose variable it is
    host: str = ""  # or the host
    typed: bool = True
    again: bool = False  # the same key once more in the same mapping: the last one silently wins

    @property
    def where(self) -> str:
        """The file and line, for a message."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(slots=True)
class Declarations:
    """All variables of an inventory, the files and folders below its group_vars and host_vars, and its groups."""

    variables: list[Declared]
    folders: list[tuple[str, str, str]]  # ("group" or "host", its name, path)
    children: set[tuple[str, str]] = field(default_factory=set)  # (group, a group in it)
    members: set[tuple[str, str]] = field(default_factory=set)  # (group, a host in it)

    def groups(self) -> dict[str, frozenset[str]]:
        """Return every group with all its hosts, as far as files tell: plug-ins and programs know more."""
        names = {name for pair in self.children for name in pair} | {group for group, _ in self.members}
        hosts = frozenset(host for _, host in self.members)
        return {name: frozenset(h for g, h in self.members if g in self.below(name)) for name in names} | {"all": hosts}

    def below(self, name: str) -> set[str]:
        """Return a group and all groups in it."""
        found: set[str] = set()
        left = [name]
        while left:
            group = left.pop()
            if group not in found:
                found.add(group)
                left += [child for parent, child in self.children if parent == group]
        return found


def read(sources: Iterable[str | Path], playbooks: str | Path | None = None) -> Declarations:
    """Read inventories: files, and folders of files with group_vars and host_vars beside them.

    `playbooks` is a folder of playbooks, which may have group_vars and host_vars too. What only Ansible can read
    (plug-ins, programs, pipes, encrypted files) is passed over. UsageError for damaged YAML.
    """
    found = Declarations([], [])
    seen: set[Path] = set()
    for source, inventory in (*((s, True) for s in sources), *(((playbooks, False),) if playbooks else ())):
        path = Path(source)
        if not path.is_file() and not path.is_dir():
            continue  # "host1,host2" is an inventory too, without variables; a pipe has been read when Ansible had it
        folder = path if path.is_dir() else path.parent
        for file in sorted(_files(path)) if inventory else ():
            found.variables += _inventory(file, found)
        for kind in _VARIABLES:
            for entry in sorted((folder / kind).iterdir()) if (folder / kind).is_dir() else ():
                if entry.resolve() not in seen and not entry.name.startswith("."):
                    seen.add(entry.resolve())
                    _beside(found, kind.removesuffix("_vars"), entry)
    return found


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for entry in path.iterdir():
        if entry.is_file() and not entry.name.startswith(".") and not entry.name.endswith(IGNORED):
            yield entry
        elif entry.is_dir() and entry.name not in _VARIABLES and not entry.name.startswith("."):
            yield from _files(entry)


def _beside(found: Declarations, kind: str, entry: Path) -> None:
    name = entry.stem if entry.suffix in _YAML else entry.name
    found.folders.append((kind, name, str(entry)))
    files = sorted(f for f in entry.rglob("*") if f.is_file()) if entry.is_dir() else [entry]
    for file in files:
        if file.suffix in ("", *_YAML) and not file.name.startswith(".") and (root := _root(file)):
            found.variables += _pairs(root, str(file), **{kind: name})


def _inventory(file: Path, found: Declarations) -> Iterator[Declared]:
    if file.suffix not in _YAML:
        text = _text(file)
        if not text.startswith("#!"):
            yield from _ini(text, str(file), found)
        return
    root = _root(file)
    if root is not None and not any(key == "plugin" for key, _, _ in root.entries()):
        yield from _groups(root, str(file), found)


def _groups(root: "_Node", file: str, found: Declarations, depth: int = 0) -> Iterator[Declared]:
    for group, content, _ in root.entries():
        for key, value, _ in content.entries():
            if key == "vars":
                yield from _pairs(value, file, group=group)
            elif key == "hosts":
                for host, variables, _ in value.entries():
                    found.members |= {(group, one) for one in expanded(host, file)}
                    yield from _pairs(variables, file, host=host)
            elif key == "children" and depth < 20:  # an alias may hold itself
                found.children |= {(group, child) for child, _, _ in value.entries()}
                yield from _groups(value, file, found, depth + 1)


def _pairs(root: "_Node", file: str, *, group: str = "", host: str = "") -> Iterator[Declared]:
    names: set[str] = set()
    for key, node, line in root.entries():
        yield Declared(key, node.value(), file, line, group, host, again=key in names)
        names.add(key)


def _ini(text: str, file: str, found: Declarations) -> Iterator[Declared]:
    group, kind = "", "hosts"
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            group, _, kind = line[1:-1].partition(":")
            kind = kind or "hosts"
        elif kind == "vars":
            name, _, value = line.partition("=")
            yield Declared(name.strip(), value.strip(), file, number, group, typed=False)
        elif kind == "children":
            found.children.add((group, line.split()[0]))
        elif kind == "hosts":
            try:
                words = shlex.split(line, comments=True)
            except ValueError:
                continue  # Ansible says what is wrong with it
            found.members |= {(group or "ungrouped", one) for one in expanded(words[0], file)}
            for word in words[1:]:
                name, equals, value = word.partition("=")
                if equals:
                    yield Declared(name, value, file, number, host=words[0], typed=False)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""  # Ansible itself says that it cannot be read


def _root(file: Path) -> "_Node | None":
    """Return what a YAML file holds; None for nothing and for an encrypted file."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    Loader.add_constructor("!vault", lambda loader, node: VAULTED)
    Loader.add_constructor("!vault-encrypted", lambda loader, node: VAULTED)
    Loader.add_constructor("!unsafe", lambda loader, node: str(node.value))
    text = _text(file)
    if text.startswith("$ANSIBLE_VAULT"):
        return None
    try:
        loader = Loader(text)
        node = loader.get_single_node()
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"{file} is not YAML: {' '.join(str(error).split())[:200]}") from None
    return None if node is None else _Node(node, loader)


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of a YAML file."""

    node: Any
    loader: Any

    @property
    def line(self) -> int:
        return int(self.node.start_mark.line) + 1

    def value(self) -> Any:
        """Return what the node stands for; None for what YAML cannot make."""
        import yaml

        try:
            return self.loader.construct_object(self.node, deep=True)
        except (yaml.YAMLError, RecursionError, ValueError):
            return None

    def entries(self) -> "Iterator[tuple[str, _Node, int]]":
        """Yield the keys of a mapping with their values and lines; none where it is no mapping."""
        if self.node.id == "mapping":
            for key, value in self.node.value:
                if key.id == "scalar" and key.value != "<<":
                    yield str(key.value), _Node(value, self.loader), int(key.start_mark.line) + 1
