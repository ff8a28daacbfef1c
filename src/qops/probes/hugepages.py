"""Transparent hugepages: which of always, madvise and never is in force."""

import re
from collections.abc import Sequence

from qops.evidence.kernel import Hugepages
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

FILE = "/sys/kernel/mm/transparent_hugepage/enabled"
SCRIPT = f"""\
f="$QOPS_ROOT{FILE}"
[ -e "${{f%/*}}" ] || f={FILE}
if [ -r "$f" ]; then read -r v <"$f" && echo "{FILE}:$v"; else echo "{FILE}: none"; fi
"""

# The three words, one in brackets. `defrag` has more words, and the files of single sizes have `inherit`.
_CHOICE = lazy(r"(?:.{0,200}[:=]\s*|\s*)((?:\[?(?:always|madvise|never)\]?[ \t]*){3})", re.ASCII)
_NONE = f"{FILE}: none"


def _chosen(line: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the choice in force and all choices, when `line` is the file's."""
    if "[" not in line or "madvise" not in line or "transparent_hugepage/defrag" in line or len(line) > 300:
        return None
    found = _CHOICE.fullmatch(line)
    words = found[1].split() if found else []
    taken = [w[1:-1] for w in words if w.startswith("[") and w.endswith("]")]
    if len(words) != 3 or len(taken) != 1:
        return None
    return taken[0], tuple(w.strip("[]") for w in words)


def recognise(text: Text) -> bool:
    """Whether a line is `always [madvise] never`, with any of the three in brackets."""
    return any(_chosen(line) is not None or line.strip() == _NONE for line in text.lines)


def parse(texts: Sequence[Text]) -> Hugepages | None:
    """Return the first choice seen, the host's own answer before files."""
    for text in sorted(texts, key=lambda t: t.probe != PROBE.name):
        for index, line in enumerate(text.lines):
            if chosen := _chosen(line):
                return Hugepages(*chosen, text.quote(index))
            if line.strip() == _NONE:
                return Hugepages("", (), text.quote(index))
    return None


PROBE = Probe(
    name="hugepages",
    makes=Hugepages,
    parse=parse,
    recognise=recognise,
    asks=(Command(("sh", "-c", SCRIPT), "whether memory is given out in transparent hugepages", name="hugepages"),),
)
