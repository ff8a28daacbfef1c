"""Whether a value is one that its option takes."""

import re
from collections.abc import Iterator
from typing import Any

from qops.data.engines import Option
from qops.flags import json_text
from qops.flags.accepted import Accepted
from qops.flags.arguments import Argument, later_filled
from qops.flags.names import LEAVE_OUT, nearest
from qops.flags.remark import Kind, Remark, Severity
from qops.flags.shell import Word

# vLLM's human_readable_int (utils/argparse_utils.py): small letters count in 1000, capitals in 1024 and whole numbers.
_SIZE = re.compile(r"\d+(\.\d+)?[kmgt]|\d+[KMGT]|-?\d+(_\d+)*")
_PARSERS = {"--tool-call-parser": "--tool-parser-plugin", "--reasoning-parser": "--reasoning-parser-plugin"}
_SHOWN = 12  # choices in a message; the rest is a number
_LONGEST = 60  # characters of a value in a message


def check(accepted: Accepted, argument: Argument, plugins: bool) -> Iterator[Remark]:
    """Yield what is wrong with the values of one argument. `plugins`: one that adds parsers is loaded."""
    option = argument.option
    for word in argument.values:
        none = accepted.engine.engine == "vllm" and word.text in ("", "None")  # what its optional types take
        if later_filled(word.text) or (none and not option.choices):
            continue
        if argument.path:
            yield from _key(accepted, argument, word)
        elif option.choices:
            yield from _choice(accepted, argument, word, plugins)
        elif trouble := _trouble(option.kind, word.text):
            yield _remark(Kind.TYPE, argument, word, f"{_short(word.text)} is no {trouble[0]}", trouble[1])
        elif option.kind in ("json", "json-or-str") and word.text.lstrip().startswith("{"):
            yield from _keys(accepted, argument, word)


def _trouble(kind: str, text: str) -> tuple[str, str] | None:
    """Return what a value is not, and what to write instead."""
    try:
        if kind == "int":
            int(text)
        elif kind == "float":
            float(text)
        elif kind == "json":
            json_text.read(text)
    except ValueError:
        number = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmM])", text) if kind == "int" else None
        if number:
            return "whole number: this option takes no k or M", str(_plain_number(number[1], number[2]))
        quoted = "put it in single quotes, with double quotes inside" if kind == "json" else ""
        return {"int": "whole number", "float": "number", "json": "JSON"}[kind], quoted
    if kind.startswith("size") and not _SIZE.fullmatch(text.strip()):
        if kind == "size-or-auto" and text.strip().lower() == "auto":
            return None
        decimals = "; K, M and G take whole numbers only" if re.fullmatch(r"\d+\.\d+[KMGT]", text) else ""
        return f"number such as 262144, 256k or 256K{decimals}", text.lower() if decimals else ""
    return None


def _plain_number(number: str, letter: str) -> int:
    factor = {"k": 1000, "m": 1000**2, "K": 1024, "M": 1024**2}[letter]
    return int(float(number) * factor)


def _choice(accepted: Accepted, argument: Argument, word: Word, plugins: bool) -> Iterator[Remark]:
    option = argument.option
    wanted = _folded(option, word.text)
    known = {_folded(option, one) for one in option.choices}
    if wanted in known or (option.open and (wanted == "auto" or set(wanted.split(",")) <= known)):
        return
    parser = argument.key in _PARSERS
    if option.open and parser and (plugins or word.text.lower() == "none"):
        return
    kind = Kind.PARSER if parser else Kind.CHOICE
    history = accepted.choice_history(accepted.engine.options[argument.key], word.text)
    near = nearest(wanted, option.choices)
    text = f"{accepted.title} has no {_short(word.text)}{history}; it has {_listed(option.choices)}"
    if option.open and not parser:
        if "." in word.text:  # the path of a class, which some of these take
            return
        text += "; a plug-in that adds it is not seen here"
    instead = f"{argument.key} {near}" if near else ""
    yield Remark(kind, Severity.ERROR, argument.written, text, instead, line=word.line)


def _folded(option: Option, text: str) -> str:
    return text.lower().replace("-", "_") if option.fold else text


def _keys(accepted: Accepted, argument: Argument, word: Word) -> Iterator[Remark]:
    known = accepted.keys(argument.option.config)
    try:
        given: Any = json_text.read(word.text)
    except ValueError:
        if argument.option.kind == "json-or-str":
            text = f"{_short(word.text)} begins like JSON and is none"
            yield _remark(Kind.TYPE, argument, word, text, "put it in single quotes, with double quotes inside")
        return
    if isinstance(given, dict) and known:
        for key, value in given.items():
            yield from _one_key(accepted, argument, word, str(key), value)


def _key(accepted: Accepted, argument: Argument, word: Word) -> Iterator[Remark]:
    if argument.option.kind not in ("json", "json-or-str"):
        text = f"{argument.key} takes no JSON, so it has no keys"
        yield _remark(Kind.TYPE, argument, word, text, argument.key)
    elif accepted.keys(argument.option.config):
        value = word.text if len(argument.path) == 1 else None
        yield from _one_key(accepted, argument, word, argument.path[0], value)


def _one_key(accepted: Accepted, argument: Argument, word: Word, key: str, value: Any) -> Iterator[Remark]:
    config = argument.option.config
    known = accepted.keys(config)
    flag = f"{argument.written}.{key}"
    if key in known:
        choices = known[key].choices
        if choices and isinstance(value, str) and value not in choices and not later_filled(value):
            history = accepted.choice_history(accepted.engine.configs[config][key], value)
            text = f"{accepted.title} has no {_short(value)}{history}; it has {_listed(choices)}"
            yield Remark(Kind.CHOICE, Severity.ERROR, flag, text, nearest(value, choices), line=word.line)
        return
    states = accepted.engine.configs[config].get(key, ())
    heir = KEYS.get((config, key), "")
    if left := accepted.left(states):
        text = f"{accepted.title} has no key {key!r}: {left[1]} was the last release with it"
        kind = Kind.RENAMED if heir else Kind.REMOVED
        yield Remark(kind, Severity.ERROR, flag, text, heir or LEAVE_OUT, line=word.line)
    elif since := accepted.comes(states):
        text = f"{accepted.title} has no key {key!r} yet: it comes with {since}"
        yield Remark(Kind.TOO_NEW, Severity.ERROR, flag, text, f"{LEAVE_OUT}, or use {since}", line=word.line)
    else:
        text = f"{config} of {accepted.title} has no key {key!r}"
        yield Remark(Kind.UNKNOWN, Severity.ERROR, flag, text, nearest(key, known) or LEAVE_OUT, line=word.line)


# Keys that went, by configuration, and what took their place: config/compilation.py of 0.17.1 maps it so.
KEYS = {("CompilationConfig", "level"): "mode"}


def _remark(kind: Kind, argument: Argument, word: Word, text: str, instead: str) -> Remark:
    return Remark(kind, Severity.ERROR, argument.written, text, instead, line=word.line)


def _listed(choices: tuple[str, ...]) -> str:
    named = [one for one in choices if one != "None"]
    shown = ", ".join(named[:_SHOWN])
    return shown if len(named) <= _SHOWN else f"{shown} and {len(named) - _SHOWN} more"


def _short(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
