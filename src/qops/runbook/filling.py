"""Putting this host's values where a page has placeholders: `PID`, `HOST`, or an assignment such as `gpu=0`."""

import re
import shlex
from collections.abc import Mapping

from qops.report import Finding

PLACEHOLDERS = ("IMAGE", "DIR", "NAME", "HOST", "UNIT", "PID", "PORT", "GPU", "INSTANCE", "MODEL")
_WORD = re.compile(rf"(?<![\w$={{\"'-])({'|'.join(PLACEHOLDERS)})\b(?![=\w])")
_ASSIGNMENT = re.compile(r"^(\s*)([A-Za-z_]\w*)=(?:\"[^\"]*\"|'[^']*'|\$\{\w+:-[^}]*\}|[\w./:@%+,-]*)$", re.M)
_PARTS = re.compile(r"(^```bash.*?^```$|`[^`\n]+`)", re.M | re.S)
_TOLD = {
    "PID": re.compile(r"\bpid (\d+)"),
    "GPU": re.compile(r"\bGPU (\d+)\b"),
    "PORT": re.compile(r"\bport (\d+)\b"),
    "BRIDGE": re.compile(r"\bbridge ([0-9a-f:.]+)"),
    "NAME": re.compile(r"\b(?:container|service) ([\w.-]+)"),
    "UNIT": re.compile(r"\b([\w@.-]+\.service)\b"),
    "IMAGE": re.compile(r"\bimage ([\w./:@-]+)"),
}


def values(finding: Finding) -> dict[str, str]:
    """Return the values that `finding` names, by placeholder: from its subject, or else from its message."""
    found: dict[str, str] = {}
    for name, pattern in _TOLD.items():
        if told := pattern.search(finding.subject) or pattern.search(finding.message):
            found[name] = told[1]
    return found


def fill(script: str, known: Mapping[str, str]) -> str:
    """Return the commands `script` with the values `known`, by upper-case name, quoted for the shell."""

    def assignment(match: re.Match[str]) -> str:
        value = known.get(match[2].upper())
        return match[0] if value is None else f"{match[1]}{match[2]}={shlex.quote(value)}"

    def word(match: re.Match[str]) -> str:
        value = known.get(match[1])
        return match[0] if value is None else shlex.quote(value)

    return _WORD.sub(word, _ASSIGNMENT.sub(assignment, script))


def missing(script: str) -> tuple[str, ...]:
    """Return the placeholders that `script` still has."""
    return tuple(dict.fromkeys(_WORD.findall(script)))


def fill_page(text: str, known: Mapping[str, str]) -> str:
    """Return the Markdown `text` with its commands filled in; prose stays as it is."""
    return _PARTS.sub(lambda match: fill(match[0], known), text)
