"""What changed between two hosts or two looks, for people and as JSON. Values lose their secrets here."""

import json
from collections.abc import Sequence

from qops.derive.aspects import Matter
from qops.derive.changes import Change, Changes
from qops.redaction import Redactor
from qops.render.screen import Line

SCHEMA = 1
LONGEST = 160  # characters of a value that people are shown
_STYLE = {Matter.BREAKS: "bold red", Matter.SLOWS: "bold yellow", Matter.DIFFERS: "bold"}


def text(changes: Changes, names: Sequence[str], times: Sequence[str]) -> list[Line]:
    """Return the lines: what matters most first. `names` and `times` are those of both sides."""
    redact = Redactor()
    sides = [f"{name}{f' ({time})' if time else ''}" for name, time in zip(names, times, strict=True)]
    lines: list[Line] = [[(f"from {sides[0]} to {sides[1]}", "bold")], [("", "")]]
    matter: Matter | None = None
    for change in changes.found:
        if change.matter is not matter:
            matter = change.matter
            lines.append([(str(matter), _STYLE[matter])])
        named = change.subject.startswith(change.what)
        name = change.subject if named else f"{change.what} {change.subject}".strip()
        lines.append([(f"  {name}", "bold"), (f"   {change.because}", "dim")])
        for mark, value in (("-", change.before), ("+", change.after)):
            lines.append([(f"    {mark} {_short(_plain(redact, change, value))}", "")])
    if changes.unseen:
        lines.append([("not compared ", "dim"), (f"seen on one side alone: {', '.join(changes.unseen)}", "dim")])
    count = len(changes.found)
    told = "nothing changed" if not count else f"{count} {'change' if count == 1 else 'changes'}"
    if not changes.compared:
        told = "nothing could be compared: the two sides show no common aspect"
    return [*lines, [(f"{told} in {changes.compared} aspects" if changes.compared else told, "bold")]]


def document(changes: Changes, names: Sequence[str], times: Sequence[str]) -> str:
    """Return the changes as JSON text, ending with a newline."""
    redact = Redactor()
    made = {
        "schema": SCHEMA,
        "before": {"host": names[0], "collected": times[0]},
        "after": {"host": names[1], "collected": times[1]},
        "changes": [
            {
                "what": change.what,
                "subject": change.subject,
                "before": _plain(redact, change, change.before),
                "after": _plain(redact, change, change.after),
                "matter": change.matter.name.lower(),
                "because": change.because,
            }
            for change in changes.found
        ],
        "unseen": list(changes.unseen),
        "compared": changes.compared,
    }
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _plain(redact: Redactor, change: Change, value: str) -> str:
    """Return a value without secrets; its name beside it is what tells many of them."""
    named = f"{change.subject or 'value'}={value}"
    return redact(named.encode()).decode(errors="replace").partition("=")[2]


def _short(value: str) -> str:
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}… ({len(value)} characters)"
