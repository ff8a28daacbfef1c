"""Runs, on paper, the few kinds of statement that functions which add arguments to a parser are made of."""

import ast
import re
from typing import Any

from qops.wheels.option import Option, kind_of, made
from qops.wheels.tree import Module, Place, Tree
from qops.wheels.values import UNKNOWN, Values, last_name

Scope = dict[str, Any]


class Reader:
    """Follows one function that adds arguments, and collects them in `found`."""

    pairs = False  # --enable-x is undone by --disable-x

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.values = Values(tree)
        self.found: list[Option] = []

    def run(self, place: Place, owner: Place | None) -> None:
        """Follow a function; `owner` is the class that it is a method of."""
        assert isinstance(place.node, ast.FunctionDef)
        self.block(place.node.body, place.module, {}, owner)

    def block(self, body: list[ast.stmt], module: Module, scope: Scope, owner: Place | None) -> None:
        """Follow statements. Both ways of an `if` that adds are taken: a flag that some machine has is a flag."""
        for node in body:
            if isinstance(node, ast.If):
                if re.search(r"\badd_argument|\badd_cli_args|\bdel ", ast.unparse(node)):
                    self.block([*node.body, *node.orelse], module, scope, owner)
            elif isinstance(node, ast.For) and "add_argument" in ast.unparse(node):
                self.loop(node, module, scope)
            elif isinstance(node, ast.Assign):
                self._assign(node, module, scope, owner)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
                self._grow(node, module, scope)
            elif isinstance(node, ast.Delete):
                self._delete(node, module, scope)
            elif isinstance(node, ast.Return | ast.Expr) and isinstance(node.value, ast.Call):
                self.call(node.value, module, scope, owner)

    def loop(self, node: ast.For, module: Module, scope: Scope) -> None:
        """Follow a loop that adds arguments; each engine has its own kind."""

    def value(self, node: ast.expr, module: Module, scope: Scope, owner: Place | None) -> Any:
        """Return what a name becomes; a call that adds arguments is followed."""
        if isinstance(node, ast.Call) and last_name(node.func) in ("add_cli_args", "add_argument"):
            self.call(node, module, scope, owner)
            return UNKNOWN
        return self.values.of(node, module, scope)

    def call(self, node: ast.Call, module: Module, scope: Scope, owner: Place | None) -> None:
        """Follow a call."""
        name = last_name(node.func)
        if name == "add_cli_args" and isinstance(node.func, ast.Attribute):
            place = self.class_of(node.func.value, module)
            method = self.tree.method(place, name) if place else None
            if method:
                self.run(method, place)
        elif name == "add_argument":
            names = tuple(str(one) for one in (self.values.of(arg, module, scope) for arg in node.args))
            if names and names[0].startswith("-"):
                self.add(names, self._words(node, module, scope))
        elif name == "remove" and isinstance(node.func, ast.Attribute):
            choices = self.values.of(node.func.value, module, scope)
            value = self.values.of(node.args[0], module, scope)
            if isinstance(choices, list) and value in choices:
                choices.remove(value)

    def add(self, names: tuple[str, ...], words: dict[str, Any]) -> None:
        """Add an option."""
        self.found.append(made(names, words, self.pairs))

    def class_of(self, node: ast.expr, module: Module) -> Place | None:
        """Return the class that a name means."""
        place = self.tree.find(module, node.id) if isinstance(node, ast.Name) else None
        return place if place and isinstance(place.node, ast.ClassDef) else None

    def _assign(self, node: ast.Assign, module: Module, scope: Scope, owner: Place | None) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name):
            scope[target.id] = self.value(node.value, module, scope, owner)
        elif isinstance(target, ast.Subscript):
            words = self.values.of(target.value, module, scope)
            key = self.values.of(target.slice, module, scope)
            if not isinstance(words, dict):
                return
            if key == "type":
                words.update({"fold": False} | kind_of(node.value))
            elif key == "action":
                words["action"] = action(node.value)
            else:
                words[key] = self.values.of(node.value, module, scope)

    def _grow(self, node: ast.AugAssign, module: Module, scope: Scope) -> None:
        assert isinstance(node.target, ast.Subscript)
        words = self.values.of(node.target.value, module, scope)
        key = self.values.of(node.target.slice, module, scope)
        more = self.values.of(node.value, module, scope)
        if isinstance(words, dict) and key == "choices" and isinstance(words.get(key), list):
            words[key] = [*words[key], *(more if isinstance(more, list) else [])]
            words["open"] = words.get("open") or not isinstance(more, list)

    def _delete(self, node: ast.Delete, module: Module, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                words = self.values.of(target.value, module, scope)
                if isinstance(words, dict):
                    words.pop(self.values.of(target.slice, module, scope), None)

    def _words(self, node: ast.Call, module: Module, scope: Scope) -> dict[str, Any]:
        words: dict[str, Any] = {}
        for word in node.keywords:
            if word.arg is None:
                inner = self.values.of(word.value, module, scope)
                words |= inner if isinstance(inner, dict) else {}
            else:
                words |= self.word(word.arg, word.value, module, scope)
        return words

    def word(self, name: str, node: ast.expr, module: Module, scope: Scope) -> dict[str, Any]:
        """Return what one keyword of `add_argument` says."""
        if name == "type":
            return kind_of(node)
        if name == "action":
            return {"action": action(node)}
        return {name: self.values.of(node, module, scope)}


def action(node: ast.expr) -> Any:
    """Return an action by its name; argparse's own pair of --x and --no-x is `bool`."""
    if isinstance(node, ast.Constant):
        return node.value
    return "bool" if last_name(node) == "BooleanOptionalAction" else last_name(node)
