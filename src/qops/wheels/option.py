"""An option as a release's parser has it, made from the words of an `add_argument` call."""

import ast
import re
from dataclasses import dataclass, replace
from typing import Any

from qops.wheels.values import UNKNOWN

# What argparse calls to convert a value, by the kind that the data names it.
_KINDS = {
    "int": "int", "float": "float", "str": "str", "loads": "json", "json_list_type": "json",
    "human_readable_int": "size", "human_readable_int_or_auto": "size-or-auto", "union_dict_and_str": "json-or-str",
}  # fmt: skip
# SGLang's actions for retired options (srt/arg_groups/argparse_actions.py); the first three take no value.
_RETIRED = ("DeprecatedAction", "DeprecatedStoreTrueAction", "DeprecatedStoreConstAction", "DeprecatedAliasStoreAction")
_SWITCHES = ("store_true", "store_false", "store_const", "count", "help", "version")
# Of the option itself; others only speak of deprecated metrics, values or methods.
_DEPRECATED = re.compile(
    r"^\W*deprecated\b|(?:--[\w-]+|option|argument|flag) (?:is|has been) (?:now )?deprecated\b|\bdeprecated[:\])]"
    r"|deprecated (?:alias|and)",
    re.I,
)
_INSTEAD = re.compile(r"(?:\b(?:use|using|by|to|with|of|for|set|pass|via)|`)\s*[`'\"]*(--[a-z][\w.-]*(?:=\w+)?)", re.I)
_LONGEST_DEFAULT = 60  # characters; longer ones help nobody in a remark


@dataclass(frozen=True, slots=True)
class Option:
    """One option of one release. `off` are the names that switch it off; `open` choices are not the parser's own."""

    names: tuple[str, ...]
    kind: str = "str"
    off: tuple[str, ...] = ()
    nargs: str = ""
    choices: tuple[str, ...] = ()
    open: bool = False
    fold: bool = False
    default: str = ""
    deprecated: bool = False
    instead: str = ""
    fails: bool = False
    config: str = ""
    dest: str = ""

    @property
    def name(self) -> str:
        """The first long name, or the only one."""
        return next((one for one in self.names if one.startswith("--")), self.names[0])


def made(names: tuple[str, ...], words: dict[str, Any], pairs: bool) -> Option:
    """Return the option that `add_argument(*names, **words)` adds. `pairs`: --enable-x is undone by --disable-x."""
    action = words.get("action")
    text = str(words["help"]) if isinstance(words.get("help"), str) else ""
    kind = words.get("kind", "str")
    off: tuple[str, ...] = ()
    if action == "bool":
        kind, off = "bool", _negations(names, pairs)
    elif action in _SWITCHES or words.get("nargs") == 0 or (action in _RETIRED[:3] and "nargs" not in words):
        kind = "switch"
    choices = words.get("choices")
    known = list(choices) if isinstance(choices, list | tuple | dict) else []
    stated = bool(known) and UNKNOWN not in known
    deprecated = words.get("deprecated") is True or action in _RETIRED or _DEPRECATED.search(text) is not None
    option = Option(
        names=names,
        kind=kind,
        off=off,
        nargs=str(words["nargs"]) if words.get("nargs") not in (None, UNKNOWN, 0) else "",
        choices=tuple(str(one) for one in known) if stated else (),
        open=bool(words.get("open")) and stated,
        fold=bool(words.get("fold")),
        default=_default(words.get("default")),
        deprecated=deprecated,
        instead=_instead(words, text, names) if deprecated else "",
        fails=isinstance(words.get("error_message"), str),
        config=words.get("config") or "",
        dest=words["dest"] if isinstance(words.get("dest"), str) else "",
    )
    return option if option.dest else replace(option, dest=option.name.lstrip("-").replace("-", "_"))


def kind_of(node: ast.expr) -> dict[str, Any]:
    """Return what `type=node` says: the kind, and whether case and underscores are evened out."""
    if isinstance(node, ast.Lambda):
        return {"kind": "str", "fold": "lower" in ast.unparse(node)}
    if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Starred):
        return kind_of(node.args[0])
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return {"kind": _KINDS.get(name, "str")}


def _negations(names: tuple[str, ...], pairs: bool) -> tuple[str, ...]:
    long = [one for one in names if one.startswith("--")]
    found = [f"--no-{one[2:]}" for one in long]
    for one in long if pairs else ():
        for prefix, inverse in (("--enable-", "--disable-"), ("--disable-", "--enable-")):
            if one.startswith(prefix):
                found.insert(0, inverse + one.removeprefix(prefix))
    return tuple(found)


def _default(value: Any) -> str:
    if value is UNKNOWN or value is None or value is False or isinstance(value, list | dict | tuple):
        return ""
    text = str(value)
    return text if len(text) <= _LONGEST_DEFAULT and "\n" not in text else ""


def replacement(text: str) -> str:
    """Return the first option that a text about something retired names."""
    found = re.search(r"(--[a-z][\w-]+(?:\.\w+)*)", text)
    return found[1] if found else ""


def _instead(words: dict[str, Any], text: str, names: tuple[str, ...]) -> str:
    if isinstance(words.get("new_flag"), str):
        return str(words["new_flag"])
    found = [match[1].rstrip(".") for match in _INSTEAD.finditer(text) if match[1].rstrip(".") not in names]
    return found[0] if found else ""
