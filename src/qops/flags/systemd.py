"""Reads the text of a systemd unit: its settings, and the words of a command in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from qops.flags.shell import Word

JOINT = "\x0b"  # where a line was continued, which counts as a blank; no text of a host has this character
_SECTION = re.compile(r"\s*\[([A-Za-z-]+)\]\s*$")
_SETTING = re.compile(r"\s*([A-Za-z]+)\s*=\s*(.*)$", re.S)
_ESCAPES = {"n": "\n", "t": "\t", "s": " ", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a unit."""

    source: str
    section: str
    name: str
    value: str
    line: int


def settings(text: str, source: str) -> Iterator[Setting]:
    """Yield the settings of a unit's text, continued lines joined."""
    section, pending, first = "", "", 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        comment = line.lstrip().startswith(("#", ";"))
        if comment or (not pending and not line.strip()):
            pending += JOINT if pending else ""
            continue
        first = first if pending else number
        if line.rstrip().endswith("\\"):
            pending += line.rstrip()[:-1] + JOINT
            continue
        whole, pending = pending + line, ""
        if head := _SECTION.match(whole):
            section = head[1]
        elif match := _SETTING.match(whole):
            yield Setting(source, section, match[1], match[2].strip(), first)


def words(value: str, line: int) -> list[Word]:
    """Return the words of a command as systemd splits it: systemd.syntax(7), "Quoting"."""
    found: list[Word] = []
    current: str | None = None
    quote, at, begun = "", 0, line
    while at < len(value):
        char = value[at]
        at += 1
        line += char == JOINT
        begun = line if current is None else begun
        if char == "\\" and at < len(value):
            code = re.match(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})", value[at:])
            taken = chr(int(code[1] or code[2], 16)) if code else _ESCAPES.get(value[at], value[at])
            current = (current or "") + taken
            at += len(code[0]) if code else 1
        elif quote:
            quote = "" if char == quote else quote
            current = (current or "") + ("" if not quote else " " if char == JOINT else char)
        elif char in "\"'":
            quote, current = char, current or ""
        elif char.isspace():
            found += [Word(current, begun)] if current is not None else []
            current = None
        else:
            current = (current or "") + char
    return [*found, *([Word(current, begun)] if current is not None else [])]
