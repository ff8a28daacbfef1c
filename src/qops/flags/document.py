"""YAML with its lines kept, so that an error can say where it is."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from qops.errors import UsageError

_DEEPEST = 30
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but a tab and the end of a line
_ITEMS = 50_000  # values of a document: anchors in anchors can multiply a few lines into billions


@dataclass(frozen=True, slots=True)
class Item:
    """A value and where it stands. `text` is a scalar as written, `kind` its YAML type ("str", "int", "null", …).

    `end` is the last line of a text in a folded block (`>`), whose line breaks are lost in `text`; 0 of any other.
    """

    file: str
    line: int
    kind: str
    text: str = ""
    items: tuple["Item", ...] = ()
    keys: tuple[tuple[str, "Item"], ...] = ()
    end: int = 0

    @property
    def mapping(self) -> dict[str, "Item"]:
        """The keys of a mapping; empty for anything else."""
        return dict(self.keys)

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"

    def plain(self) -> Any:
        """Return the value as Python has it."""
        if self.kind == "map":
            return {key: value.plain() for key, value in self.keys}
        if self.kind == "seq":
            return [one.plain() for one in self.items]
        tag = f"tag:yaml.org,2002:{self.kind}"
        return yaml.constructor.SafeConstructor().construct_document(yaml.ScalarNode(tag, self.text))

    def fail(self, message: str, hint: str = "") -> NoReturn:
        """Raise a UsageError that names the place."""
        raise UsageError(f"{self.place}: {message}", hint)


def parse(text: str, file: str, kind: str = "a recipe") -> Item:
    """Return the document `text`, which is `kind`. UsageError, with the line, for what is no YAML or no mapping."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise UsageError(f"{file}:{line}: no YAML: {getattr(error, 'problem', None) or error}") from error
    if not isinstance(node, yaml.MappingNode):
        raise UsageError(f"{file}:1: {kind} is a mapping of names to values")
    return _item(node, file, 0, itertools.count())


def _item(node: yaml.Node, file: str, depth: int, counter: Iterator[int]) -> Item:
    line = node.start_mark.line + 1
    if depth > _DEEPEST:
        raise UsageError(f"{file}:{line}: nested too deep, or an anchor that holds itself")
    if next(counter) > _ITEMS:
        raise UsageError(f"{file}:{line}: more than {_ITEMS} values, or anchors that multiply them")
    if isinstance(node, yaml.ScalarNode):
        if _CONTROL.search(node.value):
            raise UsageError(f"{file}:{line}: a control character")
        end = node.end_mark.line + (node.end_mark.column > 0) if node.style == ">" else 0
        return Item(file, line, node.tag.rpartition(":")[2], node.value, end=end)
    if isinstance(node, yaml.SequenceNode):
        return Item(file, line, "seq", items=tuple(_item(one, file, depth + 1, counter) for one in node.value))
    keys: dict[str, Item] = {}
    for key, value in _pairs(node):
        if not isinstance(key, yaml.ScalarNode) or _CONTROL.search(key.value):
            raise UsageError(f"{file}:{key.start_mark.line + 1}: a name is a plain text")
        if key.value in keys:
            raise UsageError(f"{file}:{key.start_mark.line + 1}: {key.value} stands here twice")
        keys[key.value] = _item(value, file, depth + 1, counter)
    return Item(file, line, "map", keys=tuple(keys.items()))


def _pairs(node: yaml.Node) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    yield from node.value
