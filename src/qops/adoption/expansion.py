"""Fills in what follows a `$`, as a shell, compose and systemd do. What has no value is marked, and found later."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from qops.errors import UsageError
from qops.flags import shell
from qops.flags.shell import Word

_DEEPEST = 5  # values with variables in them
_IN_BRACES = r"(?:[^{}]|\{[^{}]*\})*"  # also with one more pair in it
_VARIABLE = re.compile(
    rf"\$(?:\$|\{{(\w+)(?:(:?[-+?])({_IN_BRACES}))?\}}|(\w+|[@*#?!])"
    rf"|\(((?:[^()]|\([^()]*\))*)\)|\{{({_IN_BRACES})\}})",
    re.S,
)
_ARRAY = re.compile(r"\$\{(\w+)\[[@*]\]\}")
# How a script finds its own folder, and the folders above it.
_FOLDER = re.compile(
    r"dirname\s+(?:--\s+)?[\"']?\$(?:0|BASH_SOURCE|\{(?:0|BASH_SOURCE(?:\[0\])?)\})[\"']*\)?[\"']?((?:/\.\.)*)"
)
# Around a name that nothing sets: characters that no file in use has (the private use area of Unicode).
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}(.*?){_CLOSE}", re.S)


def text(value: str, values: Mapping[str, str], depth: int = 0) -> str:
    """Return `value` with the variables in it filled in; `$$` is a `$`."""
    if "$" not in value or depth > _DEEPEST:
        return value

    def one(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        inner = match[5] or ""
        if inner.strip() == "pwd":
            return values.get("PWD", unset("PWD"))
        if folder := _FOLDER.search(inner):
            return values.get("PWD", unset("PWD")) + folder[1]
        name, sign, other = match[1] or match[4] or "", match[2] or "", match[3] or ""
        found = values.get(name) if name else None
        if sign.endswith("-") and (not found if sign == ":-" else found is None):
            return text(other, values, depth + 1)
        if sign.endswith("+"):
            return text(other, values, depth + 1) if found else ""
        return unset(name or match[0]) if found is None else found

    return _VARIABLE.sub(one, value)


def words(
    given: Iterable[Word], values: Mapping[str, str], arrays: Mapping[str, Sequence[Word]] | None = None
) -> Iterator[Word]:
    """Yield the words with their variables filled in; a lone variable without quotes may become several words.

    `arrays` are a shell's: `${NAME[@]}` is all words of one.
    """
    for word in given:
        array = _ARRAY.fullmatch(word.text)
        if array and arrays and array[1] in arrays:
            yield from words(arrays[array[1]], values)
            continue
        if word.literal:
            yield word
            continue
        filled = text(word.text, values)
        lone = _VARIABLE.fullmatch(word.text) is not None and word.text != "$$"
        if lone and not word.whole and filled != word.text:
            yield from (Word(one.text, word.line) for one in shell.words(filled))
        else:
            yield Word(filled, word.line)


def unset(name: str) -> str:
    """Return the mark for something that has no value."""
    return f"{_OPEN}{name}{_CLOSE}"


def is_unset(value: str) -> bool:
    """Return whether a variable in `value` has no value."""
    return _OPEN in value


def need(value: str, where: str) -> str:
    """Return `value`. UsageError when a variable in it has no value."""
    if found := _MARK.search(value):
        name = found[1]
        hint = f"set it: {name}=… qops adopt …" if re.fullmatch(r"[A-Za-z_]\w*", name) else "write its value out"
        raise UsageError(f"{where}: {name if name[:1] in '$%' else f'${name}'} has no value here", hint)
    return value
