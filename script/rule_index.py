"""Makes src/qops/rules/index.json of the rules: what each is judged from, and for which messages it looks."""

import ast
import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from qops.evidence.message import Message
from qops.rule import Rule
from qops.rules.listing import FAMILIES

PLACE = Path(__file__).parent.parent / "src/qops/rules/index.json"


def made() -> str:
    """Return the index, one rule a line."""
    entries = []
    for family, names in FAMILIES.items():
        for name in names:
            module = import_module(f"qops.rules.{family}.{name}")
            rule: Rule = getattr(module, name)
            entry = {
                "code": rule.code,
                "cause": rule.cause,
                "family": rule.family,
                "name": name,
                "needs": [kind.__name__ for _, kind in rule.needs],
                "wants": [kind.__name__ for _, kind in rule.wants],
                "messages": sorted({message.id for one in _closure(module) for message in _messages(one)}),
            }
            entries.append(json.dumps(entry))
    return "[\n" + ",\n".join(entries) + "\n]\n"


def _closure(module: ModuleType) -> tuple[ModuleType, ...]:
    """Return a rule's module and all of rules and derivations that it uses, directly or not: rather too many."""
    found: dict[str, ModuleType] = {}
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if one.__name__ in found:
            continue
        found[one.__name__] = one
        for value in vars(one).values():
            home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(home, str) and home.startswith(("qops.derive.", "qops.rules.")) and home in sys.modules:
                waiting.append(sys.modules[home])
    return tuple(found.values())


def _messages(module: ModuleType) -> Iterator[Message]:
    """Yield every message that a module names."""
    known = vars(module)
    yield from _within(v for name, v in known.items() if not name.startswith("__"))
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            holder = known.get(node.value.id)
            if isinstance(holder, ModuleType):
                yield from _within([getattr(holder, node.attr, None)])


def _within(values: Iterable[Any]) -> Iterator[Message]:
    for value in values:
        if isinstance(value, Message):
            yield value
        elif isinstance(value, tuple | list | set | frozenset):
            yield from _within(value)
        elif isinstance(value, dict):
            yield from _within((*value, *value.values()))
