"""Resource limits of shells, GPU processes and units."""

from collections.abc import Sequence

from qops.evidence.kernel import AllLimits, Limits
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.process_script import GPU_PIDS
from qops.probes.sizes import limit

SCRIPT = (
    GPU_PIDS
    + """for p in $pids; do
  [ -r "/proc/$p/limits" ] && echo "== pid $p" && grep -E '^Max (locked|open|stack)' "/proc/$p/limits"
done
true
"""
)

_NUMBER = r"(unlimited|infinity|-1|[0-9]{1,20})"
# /proc/PID/limits: name, soft limit, hard limit, unit
_PROC = lazy(rf"\s*Max (locked memory|open files|stack size)\s+{_NUMBER}\s+{_NUMBER}\s+(bytes|files)\s*$")
# bash `max locked memory (kbytes, -l) 64`, dash `locked memory(kbytes) 64`, zsh `-l: locked-in-memory size (kbytes) 64`
_SHELL = lazy(
    r"\s*(?:-[lns]: )?(?:max )?(locked memory|locked-in-memory size|open files|nofiles|file descriptors"
    r"|stack size|stack)"
    rf"\s*(?:\((?:kbytes|kb|descriptors)?[, ]*(?:-[lns])?\))?\s+{_NUMBER}(?:\s+KB)?\s*$"
)
_ASKED = lazy(
    r"(?:^|[$#>;&] ?|\bsh -c ['\"]?)\s*ulimit\s+-(?:[SH]{0,2})([lns])['\"]?\s*(?:\([^()]{0,60}\)|#.{0,80})?\s*$"
)
# In people's own words. Without a word between, it is a command that sets the limit, and may have failed.
_SAID = lazy(
    rf"\bulimit\s+-[SH]{{0,2}}([lns])\b[`'\")\s]{{0,4}}(?:[:=]|->|is|says|prints|shows)\s{{0,4}}{_NUMBER}(?![\w.])"
)
_VALUE = lazy(rf"\s*{_NUMBER}\s*$")
_UCX = lazy(r"max locked memory \(ulimit -l\).{0,60}\(current: ([0-9]{1,15}) kbytes\)")  # UCX ib_log.c
# systemd: bytes, or a number with a suffix; `systemctl show` prints bytes
_UNIT = lazy(r"\s*(?:Default)?Limit(MEMLOCK|NOFILE|STACK)(?:Soft)?=(infinity|[0-9]{1,18}[KMGT]?)(?::\S+)?\s*$")
_OWNER = lazy(r"(?:^== pid |/proc/)([0-9]{1,10})\b(?:/limits)?")

_SIGNS = ("limit", "Limit", "locked", "open files", "nofiles", "stack", "descriptors", "== pid ")

_FIELDS = {
    "locked memory": "memlock", "locked-in-memory size": "memlock", "l": "memlock", "MEMLOCK": "memlock",
    "open files": "nofile", "nofiles": "nofile", "file descriptors": "nofile", "n": "nofile", "NOFILE": "nofile",
    "stack size": "stack", "stack": "stack", "s": "stack", "STACK": "stack",
}  # fmt: skip


def recognise(text: Text) -> bool:
    """Return whether `text` holds limits of any of the known forms."""
    return bool(_read(text))


def parse(texts: Sequence[Text]) -> AllLimits | None:
    """Return one entry for each owner in each text."""
    found = tuple(entry for text in texts for entry in _read(text))
    return AllLimits(found) if found else None


def _read(text: Text) -> tuple[Limits, ...]:
    values: dict[str, dict[str, int]] = {}
    quotes: dict[str, Quote] = {}
    owner = text.subject
    asked = ""
    for index, line in enumerate(text.lines):
        if len(line) > 2000 or not (asked or any(sign in line for sign in _SIGNS)):
            continue
        if line.startswith("== pid ") or line.rstrip().endswith("/limits"):
            match = _OWNER.search(line)
            owner = f"pid {match[1]}" if match else owner
        field = value = None
        who = owner or "shell"
        if "ulimit" in line and (match := _ASKED.search(line)):
            asked = match[1]
            continue
        if "ulimit" in line and (match := _SAID.search(line)):
            field, value = _FIELDS[match[1]], limit(match[2], 1 if match[1] == "n" else 1024)
        elif asked and (match := _VALUE.match(line)):
            field, value = _FIELDS[asked], limit(match[1], 1 if asked == "n" else 1024)
        elif "Max " in line and (match := _PROC.match(line)):
            field, value, who = _FIELDS[match[1]], limit(match[2]), owner or "process"
        elif match := _SHELL.match(line):
            field = _FIELDS[match[1]]
            value = limit(match[2], 1 if field == "nofile" else 1024)
        elif "Limit" in line and (match := _UNIT.match(line)):
            field, value, who = _FIELDS[match[1]], limit(match[2]), owner or "unit"
        elif "(ulimit -l)" in line and (match := _UCX.search(line)):
            field, value, who = "memlock", int(match[1]) * 1024, owner or "process"
        asked = asked if not line.strip() else ""
        if field is not None and value is not None:
            seen = values.setdefault(who, {})
            # The smallest that one owner says: a soft limit counts, and so does the worst shell of a paste.
            seen[field] = value if field not in seen else _lower(seen[field], value)
            if who not in quotes or (field == "memlock" and seen[field] == value):
                quotes[who] = text.quote(index)
    return tuple(
        Limits(who, quotes[who], v.get("memlock"), v.get("nofile"), v.get("stack")) for who, v in values.items()
    )


def _lower(a: int, b: int) -> int:
    return max(a, b) if min(a, b) == -1 else min(a, b)


PROBE = Probe(
    name="limits",
    makes=AllLimits,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(("sh", "-c", "ulimit -a"), "the limits that a new process gets", name="ulimit -a"),
        Command(
            ("sh", "-c", SCRIPT), "the limits of the GPU processes, locked memory above all", root=True, name="limits"
        ),
    ),
    literals=("max locked memory", "max open files", "ulimit -l"),
)
