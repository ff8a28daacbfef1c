"""The clocks that the unit qops-gpu-power locked since boot: nvidia-smi itself does not tell."""

from collections.abc import Sequence

from qops.evidence.power import ClockLocks
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

FILE = "/run/qops/gpu-clocks"  # what roles/gpu_power/files/qops-gpu-power.sh writes
_MARK = "qops gpu clocks: "
_LINE = lazy(rf"\s*{_MARK}(GPU-[0-9a-fA-F-]{{1,60}}) (unlocked|[0-9]{{1,5}},[0-9]{{1,5}})\s*$")
_NONE = _MARK + "none"
SCRIPT = f"""\
if [ -r {FILE} ]; then sed 's/^/{_MARK}/' {FILE}; else echo '{_NONE}'; fi
"""


def recognise(text: Text) -> bool:
    """Whether a line is this probe's answer."""
    return any(line.lstrip().startswith(_MARK) for line in text.lines)


def parse(texts: Sequence[Text]) -> ClockLocks | None:
    """Return the last word on each GPU; None when nothing was said."""
    locks: dict[str, str] = {}
    quote = None
    for text in texts:
        for index, line in enumerate(text.lines):
            found = _LINE.match(line) if _MARK in line else None
            if found:
                locks[found[1]] = found[2]
            if found or line.strip() == _NONE:
                quote = quote or text.quote(index)
    return ClockLocks(locks, quote) if quote else None


PROBE = Probe(
    name="clock_locks",
    makes=ClockLocks,
    parse=parse,
    recognise=recognise,
    asks=(Command(("sh", "-c", SCRIPT), "clocks that a role of qops locked", name="gpu clock locks"),),
    families=("host",),
)
