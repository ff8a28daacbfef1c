"""Arrays of a shell script, in which people write down long commands."""

import re
from dataclasses import dataclass

from qops.flags import shell
from qops.flags.shell import Word

_START = re.compile(r"^([ \t]*)(?:(?:declare|local|typeset|readonly)[ \t]+-\w+[ \t]+)?(\w+)(\+?)=\(", re.M)


@dataclass(frozen=True, slots=True)
class Array:
    """One assignment: `NAME=(…)`, or `NAME+=(…)`, which adds. `conditional`: it adds inside of something."""

    name: str
    words: tuple[Word, ...]
    line: int
    adds: bool
    conditional: bool


def taken_out(text: str, line: int) -> tuple[str, list[Array]]:
    """Return `text` without its arrays but with as many lines, and the arrays in their order."""
    found: list[Array] = []
    at = 0
    while match := _START.search(text, at):
        end = shell.closing(text, match.end() - 1)
        first = line + text.count("\n", 0, match.end())
        words = tuple(shell.words(text[match.end() : end], first))
        found.append(Array(match[2], words, first, bool(match[3]), bool(match[3] and match[1])))
        blank = "\n" * text.count("\n", match.start(), end + 1) or ":"
        text = text[: match.start()] + blank + text[end + 1 :]
        at = match.start() + len(blank)
    return text, found
