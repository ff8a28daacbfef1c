"""A tree of Python files: modules by name, names followed through imports, the fields of classes."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from qops.wheels.archive import Files

_DEEPEST = 20  # imports followed for one name; a cycle ends there


@dataclass(frozen=True, slots=True)
class Place:
    """A definition: the module that holds it and its node."""

    module: "Module"
    node: ast.AST


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a class: its annotation, its default and the text below it, with the module that they stand in."""

    name: str
    annotation: ast.expr
    default: ast.expr | None
    text: str
    module: "Module"


@dataclass(eq=False)
class Module:
    """One parsed file, and what its top level names."""

    name: str
    package: str
    body: list[ast.stmt]
    names: dict[str, ast.AST] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.body:
            self._add(node, over=True)
            if isinstance(node, ast.If | ast.Try):  # `if TYPE_CHECKING:` names what the plain path leaves out
                for inner in ast.walk(node):
                    if isinstance(inner, ast.stmt):
                        self._add(inner, over=False)

    def _add(self, node: ast.stmt, over: bool) -> None:
        found: dict[str, ast.AST] = {}
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom | ast.Import):
            found.update((alias.asname or alias.name, node) for alias in node.names)
        elif isinstance(node, ast.Assign):
            found.update((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
        for name, what in found.items():
            if over:
                self.names[name] = what
            else:
                self.names.setdefault(name, what)


class Tree:
    """The Python files of one release."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._modules: dict[str, Module | None] = {}

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of all files."""
        return frozenset(self.files.names())

    def module(self, name: str) -> Module | None:
        """Return the module `a.b.c`, or None when the release has none."""
        if name not in self._modules:
            self._modules[name] = self._parsed(name)
        return self._modules[name]

    def _parsed(self, name: str) -> Module | None:
        stem = name.replace(".", "/")
        for path, package in ((f"{stem}.py", name.rpartition(".")[0]), (f"{stem}/__init__.py", name)):
            if path in self.paths:
                return Module(name, package, ast.parse(self.files.text(path)).body)
        return None

    def find(self, module: Module, name: str, depth: int = 0) -> Place | None:
        """Return where `name`, as used in `module`, is defined; None when that lies outside of the tree."""
        node = module.names.get(name)
        if node is None or depth > _DEEPEST:
            return None
        if not isinstance(node, ast.ImportFrom):
            return None if isinstance(node, ast.Import) else Place(module, node)
        origin = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
        source = self.module(_absolute(module, node))
        if source is None:
            return None
        if origin not in source.names:
            return None
        return self.find(source, origin, depth + 1)

    def bases(self, place: Place) -> Iterator[Place]:
        """Yield a class and the classes that it inherits from, nearest first."""
        yield place
        assert isinstance(place.node, ast.ClassDef)
        for base in place.node.bases:
            if isinstance(base, ast.Name):
                found = self.find(place.module, base.id)
                if found and isinstance(found.node, ast.ClassDef):
                    yield from self.bases(found)

    def fields(self, place: Place) -> dict[str, Field]:
        """Return the fields of a dataclass by name, those that it inherits first."""
        found: dict[str, Field] = {}
        for owner in reversed(list(self.bases(place))):
            assert isinstance(owner.node, ast.ClassDef)
            body = owner.node.body
            for index, node in enumerate(body):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    if "ClassVar" in ast.dump(node.annotation):
                        continue
                    below = body[index + 1] if index + 1 < len(body) else None
                    name = node.target.id
                    found[name] = Field(name, node.annotation, node.value, _text(below), owner.module)
        return found

    def method(self, place: Place, name: str) -> Place | None:
        """Return the method `name` of a class or of what it inherits from."""
        for owner in self.bases(place):
            assert isinstance(owner.node, ast.ClassDef)
            for node in owner.node.body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return Place(owner.module, node)
        return None


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.package.split(".")
    package = package[: len(package) - (node.level - 1)]
    return ".".join([*package, *([node.module] if node.module else [])])


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""
