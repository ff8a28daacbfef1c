"""What an expression in an engine's source is worth, as far as that can be told without running it."""

import ast
from collections.abc import Mapping
from typing import Any

from qops.wheels.tree import Field, Module, Place, Tree


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
_DEEPEST = 30  # definitions followed for one value

Scope = Mapping[str, Any]


class Values:
    """Evaluates expressions of one tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def of(self, node: ast.AST | None, module: Module, scope: Scope | None = None, depth: int = 0) -> Any:
        """Return the value of `node`: constants, lists, dicts, tuples and sets of them, or UNKNOWN."""
        if node is None or depth > _DEEPEST:
            return UNKNOWN
        scope = scope or {}
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        return method(node, module, scope, depth + 1) if method else UNKNOWN

    def literals(self, node: ast.AST, module: Module, depth: int = 0) -> list[Any] | None:
        """Return the members of a `Literal[...]`, of an alias of one, or of an Enum; None when `node` is neither."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Name):
            place = self.tree.find(module, node.id)
            return self.literals(place.node, place.module, depth + 1) if place else None
        if isinstance(node, ast.Subscript) and last_name(node.value) in ("Literal", "TypeAlias"):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            found: list[Any] = []
            for one in inner:
                nested = None if isinstance(one, ast.Constant) else self.literals(one, module, depth + 1)
                value = self.of(one, module)
                found += nested if nested is not None else [] if value is UNKNOWN else [value]
            return found
        return None

    def members(self, node: ast.AST, module: Module) -> dict[str, Any] | None:
        """Return an Enum's members by name; None when `node` names none."""
        place = self.tree.find(module, node.id) if isinstance(node, ast.Name) else None
        if place is None or not isinstance(place.node, ast.ClassDef) or not self._is_enum(place):
            return None
        found: dict[str, Any] = {}
        for one in place.node.body:
            target = one.targets[0] if isinstance(one, ast.Assign) else None
            if isinstance(one, ast.Assign) and isinstance(target, ast.Name) and not target.id.startswith("_"):
                found[target.id] = self.of(one.value, place.module)
        return found

    def _is_enum(self, place: Place) -> bool:
        return any(
            "Enum" in (last_name(base) or "")
            for owner in self.tree.bases(place)
            if isinstance(owner.node, ast.ClassDef)
            for base in (*owner.node.bases, *[k.value for k in owner.node.keywords])
        )

    def _constant(self, node: ast.Constant, *_: Any) -> Any:
        return node.value

    def _list(self, node: ast.List | ast.Tuple | ast.Set, module: Module, scope: Scope, depth: int) -> Any:
        found: list[Any] = []
        for one in node.elts:
            value = self.of(one.value if isinstance(one, ast.Starred) else one, module, scope, depth)
            if isinstance(one, ast.Starred):
                if not isinstance(value, list | tuple | dict):
                    return UNKNOWN
                found += list(value)
            else:
                found.append(value)
        return found

    _tuple = _set = _list

    def _dict(self, node: ast.Dict, module: Module, scope: Scope, depth: int) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            inner = self.of(value, module, scope, depth)
            if key is None:
                if not isinstance(inner, dict):
                    return UNKNOWN
                found |= inner
            else:
                name = self.of(key, module, scope, depth)
                if name is UNKNOWN:
                    return UNKNOWN
                found[name] = inner
        return found

    def _name(self, node: ast.Name, module: Module, scope: Scope, depth: int) -> Any:
        if node.id in scope:
            return scope[node.id]
        place = self.tree.find(module, node.id)
        if place is None or not isinstance(place.node, ast.expr):
            return UNKNOWN
        return self.of(place.node, place.module, {}, depth)

    def _attribute(self, node: ast.Attribute, module: Module, scope: Scope, depth: int) -> Any:
        if not isinstance(node.value, ast.Name):
            return UNKNOWN
        if (members := self.members(node.value, module)) is not None:
            return members.get(node.attr, UNKNOWN)
        place = self.tree.find(module, node.value.id)
        if place and isinstance(place.node, ast.ClassDef):
            return self.class_value(place, node.attr, depth)
        return UNKNOWN

    def class_value(self, place: Place, name: str, depth: int = 0) -> Any:
        """Return a class attribute, which is the default of a dataclass field or a plain assignment."""
        field = self.tree.fields(place).get(name)
        if field is not None:
            return self.default(field, depth)
        for owner in self.tree.bases(place):
            assert isinstance(owner.node, ast.ClassDef)
            scope: dict[str, Any] = {}
            for one in owner.node.body:
                if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                    scope[one.targets[0].id] = self.of(one.value, owner.module, scope, depth)
            if name in scope:
                return scope[name]
        return UNKNOWN

    def default(self, field: Field, depth: int = 0) -> Any:
        """Return a field's default, also that of `field(default=…)` and `Field(…)`."""
        node = field.default
        if isinstance(node, ast.Call) and last_name(node.func) in ("field", "Field"):
            words = {k.arg: k.value for k in node.keywords}
            if "default" in words:
                node = words["default"]
            elif node.args:
                node = node.args[0]
            else:
                return UNKNOWN
        return self.of(node, field.module, {}, depth)

    def _subscript(self, node: ast.Subscript, module: Module, scope: Scope, depth: int) -> Any:
        value = self.of(node.value, module, scope, depth)
        key = self.of(node.slice, module, scope, depth)
        try:
            return value[key]
        except (TypeError, KeyError, IndexError):
            return UNKNOWN

    def _binop(self, node: ast.BinOp, module: Module, scope: Scope, depth: int) -> Any:
        left = self.of(node.left, module, scope, depth)
        right = self.of(node.right, module, scope, depth)
        if isinstance(node.op, ast.Add | ast.BitOr):
            for kind in (list, str, dict):
                if isinstance(left, kind) and isinstance(right, kind):
                    return left | right if kind is dict else left + right  # type: ignore[operator]
            if isinstance(left, list) or isinstance(right, list):  # a part that depends on the machine is left out
                return left if isinstance(left, list) else right
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if numbers and isinstance(node.op, ast.Mult | ast.Add | ast.LShift | ast.Pow):
            return {ast.Mult: _times, ast.Add: _plus, ast.LShift: _shift, ast.Pow: _power}[type(node.op)](left, right)
        return UNKNOWN

    def _unaryop(self, node: ast.UnaryOp, module: Module, scope: Scope, depth: int) -> Any:
        value = self.of(node.operand, module, scope, depth)
        if isinstance(node.op, ast.USub) and isinstance(value, int | float):
            return -value
        return UNKNOWN

    def _joinedstr(self, node: ast.JoinedStr, module: Module, scope: Scope, depth: int) -> Any:
        return "".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in node.values)

    def _call(self, node: ast.Call, module: Module, scope: Scope, depth: int) -> Any:
        name = last_name(node.func)
        if name == "get_field" and len(node.args) == 2 and isinstance(node.args[0], ast.Name):
            place = self.tree.find(module, node.args[0].id)
            key = self.of(node.args[1], module)
            if place and isinstance(place.node, ast.ClassDef) and isinstance(key, str):
                return self.class_value(place, key, depth)
        if name in ("get_args",) and node.args:
            found = self.literals(node.args[0], module)
            return UNKNOWN if found is None else found
        if name in ("list", "tuple", "set", "sorted", "frozenset") and len(node.args) == 1:
            if (members := self.members(node.args[0], module)) is not None:
                return list(members.values())
            value = self.of(node.args[0], module, scope, depth)
            return list(value) if isinstance(value, list | tuple | dict) else UNKNOWN
        if name == "keys" and isinstance(node.func, ast.Attribute):
            value = self.of(node.func.value, module, scope, depth)
            return list(value) if isinstance(value, dict) else UNKNOWN
        if name == "int" and len(node.args) == 1:
            value = self.of(node.args[0], module, scope, depth)
            return int(value) if isinstance(value, int | float) else UNKNOWN
        return self._returned(node, module, depth)

    def _returned(self, node: ast.Call, module: Module, depth: int) -> Any:
        """Return what a function of the tree without arguments returns last, as lazily loaded registries do."""
        if node.args or node.keywords or not isinstance(node.func, ast.Name):
            return UNKNOWN
        place = self.tree.find(module, node.func.id)
        if place is None or not isinstance(place.node, ast.FunctionDef) or not place.node.body:
            return UNKNOWN
        last = place.node.body[-1]
        if not isinstance(last, ast.Return):
            return UNKNOWN
        local: list[ast.stmt] = [one for one in place.node.body if isinstance(one, ast.ImportFrom)]
        inner = Module(place.module.name, place.module.package, local)
        inner.names = place.module.names | inner.names
        return self.of(last.value, inner, {}, depth)

    def _listcomp(self, node: ast.ListComp, module: Module, scope: Scope, depth: int) -> Any:
        """`[m.name.lower() for m in AnEnum]` and `[m.value …]`, by a function that returns the members as well."""
        if len(node.generators) != 1 or node.generators[0].ifs:
            return UNKNOWN
        source = node.generators[0].iter
        inner, origin = source, module
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and not source.args:
            place = self.tree.find(module, source.func.id)
            if place and isinstance(place.node, ast.FunctionDef) and isinstance(place.node.body[-1], ast.Return):
                local: list[ast.stmt] = [one for one in place.node.body if isinstance(one, ast.ImportFrom)]
                origin = Module(place.module.name, place.module.package, local)
                returned = place.node.body[-1].value
                inner = returned.args[0] if isinstance(returned, ast.Call) and returned.args else source
        members = self.members(inner, origin)
        if members is None:
            return UNKNOWN
        shown = ast.unparse(node.elt)
        found = list(members) if ".name" in shown else list(members.values())
        return [one.lower() if ".lower()" in shown and isinstance(one, str) else one for one in found]


def last_name(node: ast.AST) -> str | None:
    """Return the last name of `a.b.c`; None for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _times(a: float, b: float) -> float:
    return a * b


def _plus(a: float, b: float) -> float:
    return a + b


def _shift(a: int, b: int) -> int:
    return a << b


def _power(a: float, b: float) -> float:
    return float(a**b)
