"""The words of `add_argument` that vLLM makes of a field's annotation, by the same order of cases."""

import ast
from typing import Any

from qops.wheels.tree import Field, Module, Place
from qops.wheels.values import Values, last_name

# Fields of type int that take 1k, 2M and the like (engine/arg_utils.py _compute_kwargs, 0.17.0 to 0.33.0).
_SIZES = frozenset((
    "max_num_batched_tokens", "max_num_scheduled_tokens", "kv_cache_memory_bytes", "safetensors_prefetch_block_size",
    "max_num_queued_tokens",
))  # fmt: skip
_COLLECTIONS = ("list", "List", "set", "tuple", "Sequence")
_MAPPINGS = ("dict", "Dict", "Mapping")
_BUILTINS = frozenset(("str", "int", "float", "bool", "None", "bytes"))


def is_input(field: Field) -> bool:
    """Return whether a field is one that its maker may be given: `field(init=False)` is not."""
    node = field.default
    if not isinstance(node, ast.Call):
        return True
    return all(
        not (k.arg == "init" and isinstance(k.value, ast.Constant) and k.value.value is False) for k in node.keywords
    )


def words(values: Values, field: Field) -> dict[str, Any]:
    """Return kind, choices, nargs, action, default and help of the option that a field becomes."""
    hints = list(_flat(field.annotation, field.module, values))
    heads = [_head(node) for node, _ in hints]
    found: dict[str, Any] = {"default": values.default(field), "help": field.text}
    optional = "None" in heads
    if place := _dataclass(values, hints):
        return found | {"kind": "json", "place": place}
    if set(heads) == {"bool", "str", "None"}:
        return found | {"kind": "str", "nargs": "?"}
    if "bool" in heads:
        return found | {"action": "bool"}
    literal = next(((n, m) for n, m in hints if _head(n) == "Literal"), None)
    if literal:
        choices = values.literals(*literal) or []
        kind = "int" if choices and all(isinstance(one, int) for one in choices) else "str"
        found |= {"kind": kind, "choices": [*choices, *(["None"] if optional else [])]}
        return found | ({"open": True} if "str" in heads else {})
    for node, module in hints:
        if _head(node) in _COLLECTIONS:
            collected = _collection(values, node, module)
            if optional and "choices" in collected:
                collected["choices"] = [*collected["choices"], "None"]
            return found | collected
    if "int" in heads:
        kind = "size-or-auto" if field.name == "max_model_len" else "size" if field.name in _SIZES else "int"
        return found | {"kind": kind}
    if "float" in heads:
        return found | {"kind": "float"}
    if any(_is_mapping(values, node, module) for node, module in hints):
        return found | {"kind": "json"}
    if any(head in _MAPPINGS for head in heads):
        others = [head for head in heads if head not in _BUILTINS and head not in _MAPPINGS]
        return found | {"kind": "json-or-str" if "str" in heads or others else "json"}
    return found | {"kind": "str"} | _enum(values, hints)


def sglang_words(values: Values, node: ast.expr, module: Module) -> dict[str, Any]:
    """Return kind, choices, nargs and action that SGLang makes of a type (srt/arg_groups/arg_utils.py)."""
    hints = [one for one in _flat(node, module, values) if _head(one[0]) != "None"]
    inner, origin = hints[0] if len(hints) == 1 else (ast.Name("str"), module)
    head = _head(inner)
    if head == "Literal":
        choices = values.literals(inner, origin) or []
        return {"kind": "int" if isinstance(choices[0], int) else "str", "choices": choices}
    if head in ("list", "List"):
        element = _head(inner.slice) if isinstance(inner, ast.Subscript) else "str"
        return {"kind": element if element in ("int", "float") else "str", "nargs": "+"}
    if head == "bool":
        return {"action": "store_true"}
    return {"kind": head if head in ("int", "float") else "str"}


def _enum(values: Values, hints: list[tuple[ast.expr, Module]]) -> dict[str, Any]:
    for node, module in hints:
        if members := values.members(node, module):
            if all(isinstance(one, int) for one in members.values()):
                return {"choices": list(members.values()), "kind": "int"}
            return {"choices": list(members), "open": True, "fold": True}
    return {}


def _collection(values: Values, node: ast.expr, module: Module) -> dict[str, Any]:
    inner = node.slice if isinstance(node, ast.Subscript) else None
    element = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
    found: dict[str, Any] = {"kind": "str", "nargs": "+"}
    if element is None:
        return found
    if _head(node) == "tuple" and isinstance(inner, ast.Tuple):
        open_ended = any(isinstance(one, ast.Constant) and one.value is Ellipsis for one in inner.elts)
        found["nargs"] = "+" if open_ended else str(len(inner.elts))
    choices = values.literals(element, module)
    if choices is not None:
        return found | {"choices": list(choices)}
    return found | {"kind": head if (head := _head(element)) in ("int", "float") else "str"}


def _dataclass(values: Values, hints: list[tuple[ast.expr, Module]]) -> Place | None:
    for node, module in hints:
        place = values.tree.find(module, node.id) if isinstance(node, ast.Name) else None
        if place and isinstance(place.node, ast.ClassDef) and _is_dataclass(values, place):
            return place
    return None


def _is_mapping(values: Values, node: ast.expr, module: Module) -> bool:
    """Return whether a type is a class of the tree that inherits from dict."""
    place = values.tree.find(module, node.id) if isinstance(node, ast.Name) else None
    if place is None or not isinstance(place.node, ast.ClassDef):
        return False
    return any(_head(base) in _MAPPINGS for base in place.node.bases)


def _is_dataclass(values: Values, place: Place) -> bool:
    return any(
        last_name(one.func if isinstance(one, ast.Call) else one) in ("config", "dataclass")
        for owner in values.tree.bases(place)
        if isinstance(owner.node, ast.ClassDef)
        for one in owner.node.decorator_list
    )


def _flat(node: ast.expr, module: Module, values: Values, depth: int = 0) -> list[tuple[ast.expr, Module]]:
    """Return the members of unions, aliases followed: `A | None` where A is `X | str` gives X, str and None."""
    if depth > 10:
        return []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _flat(node.left, module, values, depth + 1) + _flat(node.right, module, values, depth + 1)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _flat(ast.parse(node.value, mode="eval").body, module, values, depth + 1)
    if isinstance(node, ast.Subscript):
        name = last_name(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name in ("Union", "Optional"):
            inner = [one for part in parts for one in _flat(part, module, values, depth + 1)]
            return [*inner, (ast.Constant(None), module)] if name == "Optional" else inner
        if name in ("Annotated", "SkipValidation", "Final", "InitVar"):
            return _flat(parts[0], module, values, depth + 1)
    if isinstance(node, ast.Name):
        place = values.tree.find(module, node.id)
        if place and isinstance(place.node, ast.expr) and node.id not in _BUILTINS:
            return _flat(place.node, place.module, values, depth + 1)
    return [(node, module)]


def _head(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return "None" if node.value is None else ""
    return last_name(node.value if isinstance(node, ast.Subscript) else node) or ""
