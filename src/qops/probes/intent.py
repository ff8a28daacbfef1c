"""What qops' roles meant the host to be: /etc/qops/intent.d, one JSON line of each role."""

import json
from collections.abc import Sequence
from typing import Any

from qops.evidence.intent import Intent
from qops.evidence.text import Text
from qops.probes.base import Command, Probe

MARK = '{"qops_role":'  # how the one line of such a file begins
LONGEST = 20_000  # characters; a role's file has a few hundred


def _said(line: str) -> dict[str, Any] | None:
    stripped = line.strip()
    if not stripped.startswith(MARK) or len(stripped) > LONGEST:
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("qops_role"), str) else None


def recognise(text: Text) -> bool:
    """Whether a line is a role's."""
    return any(_said(line) is not None for line in text.lines)


def parse(texts: Sequence[Text]) -> Intent | None:
    """Return what all roles wrote; a later role's word on the same setting wins."""
    roles: dict[str, None] = {}
    hardware_class = ""
    settings: dict[str, str] = {}
    for text in texts:
        for line in text.lines:
            said = _said(line)
            if said is None:
                continue
            roles[said["qops_role"]] = None
            if isinstance(said.get("hardware_class"), str):
                hardware_class = said["hardware_class"]
            if isinstance(said.get("settings"), dict):
                settings |= {k: v for k, v in said["settings"].items() if isinstance(v, str)}
    return Intent(tuple(roles), hardware_class, settings) if roles else None


PROBE = Probe(
    name="intent",
    makes=Intent,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", "cat /etc/qops/intent.d/*.json 2>/dev/null || true"),
            "what the roles of qops meant this host to be",
            name="qops intent",
        ),
    ),
)
