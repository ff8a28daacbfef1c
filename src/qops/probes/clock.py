"""The host's clock, beside the clock of whoever asks."""

import time
from collections.abc import Sequence

from msgspec.structs import replace

from qops.evidence.readiness import Clock
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

SCRIPT = """echo "== clock $(date +%s) asked ${1:-}"
timedatectl show --property=NTPSynchronized 2>/dev/null || chronyc -n tracking 2>/dev/null | grep Leap
true
"""
_HEAD = lazy(r"== clock ([0-9]{1,12}) asked ([0-9]{0,12})\s*$")
_SYNCHRONIZED = {"NTPSynchronized=yes": True, "NTPSynchronized=no": False}


def parse(texts: Sequence[Text]) -> Clock | None:
    """Return what the first answer says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            head = _HEAD.match(line) if line.startswith("== clock ") else None
            if head is None:
                continue
            after = (_SYNCHRONIZED.get(rest.strip()) for rest in text.lines[index + 1 :])
            said = next((value for value in after if value is not None), None)
            if any("Leap status" in rest for rest in text.lines[index + 1 :]):
                said = any("Leap status" in rest and "Normal" in rest for rest in text.lines[index + 1 :])
            return Clock(text.quote(index), int(head[1]) - int(head[2]) if head[2] else None, said)
    return None


PROBE = Probe(
    name="clock",
    makes=Clock,
    parse=parse,
    recognise=lambda text: any(line.startswith("== clock ") and _HEAD.match(line) for line in text.lines),
    asks=(Command(("sh", "-c", SCRIPT, "clock"), "the clock, and whether anything keeps it right", name="clock"),),
    families=(),  # a plan's alone
)


def compared() -> Probe:
    """Return the probe that compares the host's clock with the one here. It is asked soon: seconds count."""
    told = "the clock beside the controller's, and whether anything keeps it right"
    return replace(PROBE, asks=(Command(("sh", "-c", SCRIPT, "clock", str(int(time.time()))), told, name="clock"),))
