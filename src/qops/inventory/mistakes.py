"""Mistakes in the variables of an inventory: misspelt, of the wrong type, given twice."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from qops.inventory.declared import VAULTED, Declared
from qops.inventory.specs import REMOVED, SHARED, Spec, Specs

_YES_NO = ("true", "false", "yes", "no", "on", "off")
_NEAR = 0.82  # likeness from which a name is taken for a misspelt other


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong in an inventory. `grave` stops a run. Values are never told: they may be secrets."""

    message: str
    where: str = ""
    grave: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


def names(variables: Iterable[Declared], specs: Specs, own: Sequence[str] = ()) -> Iterator[Mistake]:
    """Yield variables that no role has, though they are called as if one did. `own` are the owner's own names."""
    known = (*specs.variables, *SHARED)
    for one in variables:
        if one.name in specs.variables or one.name in SHARED or one.name in own:
            continue
        if one.name in REMOVED:
            release, instead = REMOVED[one.name]
            after = f"; {instead} is in its place" if instead else ""
            yield Mistake(f"{one.name} is gone since release {release}{after}", one.where)
            continue
        role = specs.role_of(one.name)
        near = difflib.get_close_matches(one.name, known, n=1, cutoff=0.6 if role else _NEAR)
        if role or one.name.startswith("qops_"):
            nearest = f"; did you mean {near[0]}?" if near else ""
            whose = f"the role {role}" if role else "qops"
            yield Mistake(f"{one.name} is no variable of {whose}, so it does nothing{nearest}", one.where)
        elif near:
            yield Mistake(f"{one.name} is no variable of any role; did you mean {near[0]}?", one.where, grave=False)


def twice(variables: Iterable[Declared]) -> Iterator[Mistake]:
    """Yield variables that one mapping gives twice: the last one wins, and nothing says so."""
    for one in variables:
        if one.again:
            yield Mistake(f"{one.name} is given a second time in the same place, and the first one is lost", one.where)


def types(variables: Iterable[Declared], specs: Specs) -> Iterator[Mistake]:
    """Yield variables whose value is of another type than the role's argument spec says."""
    for one in variables:
        spec = specs.variables.get(one.name)
        if spec is not None and one.value is not None and not _templated(one.value):
            for message in _wrong(one.name, one.value, spec, typed=one.typed):
                yield Mistake(message, one.where)


def _wrong(name: str, value: Any, spec: Spec, *, typed: bool) -> Iterator[str]:
    told = _type(name, value, spec.type, typed=typed)
    if told:
        yield told
        return
    if spec.type == "list" and isinstance(value, list):
        for number, one in enumerate(value):
            inner = Spec(spec.elements or "raw", options=spec.options)
            if not _templated(one):
                yield from _wrong(f"{name}[{number}]", one, inner, typed=typed)
    elif spec.type == "dict" and isinstance(value, dict) and spec.options:
        for key, one in value.items():
            if key not in spec.options:
                near = difflib.get_close_matches(str(key), spec.options, n=1)
                yield f"{name} has the key {key}, which means nothing" + (f"; did you mean {near[0]}?" if near else "")
            elif one is not None and not _templated(one):
                yield from _wrong(f"{name}.{key}", one, spec.options[key], typed=typed)
    elif spec.choices and value not in spec.choices and str(value) not in [str(c) for c in spec.choices]:
        yield f"{name} must be one of {', '.join(str(c) for c in spec.choices)}"


def _type(name: str, value: Any, wanted: str, *, typed: bool) -> str:
    """Return in words how `value` is not of the type; "" when it is."""
    if value is VAULTED:
        return ""
    if wanted == "bool":
        if isinstance(value, bool) or (not typed and str(value).lower() in _YES_NO):
            return ""
        if str(value).lower() in _YES_NO:
            return f"{name} is a boolean written as text: leave the quotes away"
        return f"{name} must be true or false"
    if wanted in ("int", "float"):
        if not isinstance(value, (bool, str, list, dict)):
            return "" if wanted == "float" or isinstance(value, int) else f"{name} must be a whole number"
        if isinstance(value, str) and _number(value):
            return "" if not typed else f"{name} is a number written as text: leave the quotes away"
        return f"{name} must be a number"
    if wanted == "str" and isinstance(value, bool):
        return f"{name} is a boolean, and the role takes text: YAML reads yes, no, on and off so; put it in quotes"
    if wanted in ("str", "path") and isinstance(value, (list, dict)):
        return f"{name} must be text"
    if wanted == "list" and not isinstance(value, list) and typed:
        return f"{name} must be a list"
    if wanted == "dict" and not isinstance(value, dict) and typed:
        return f"{name} must be a mapping"
    return ""


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _templated(value: Any) -> bool:
    return isinstance(value, str) and ("{{" in value or "{%" in value)
