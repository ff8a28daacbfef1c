"""Memory cgroups of the GPU processes: limit, use, and how often the kernel killed at that limit."""

from collections.abc import Sequence

from qops.evidence.process import Cgroup, Cgroups
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.process_script import GPU_PIDS

# Version 2 has one hierarchy ("0::/path"); version 1 has one for each controller ("7:memory:/path"). A container sees
# its own cgroup as the root of /sys/fs/cgroup.
SCRIPT = (
    GPU_PIDS
    + r"""for p in $pids; do
  line=$(grep -E '^0::/|^[0-9]+:([a-z,]*,)?memory(,[a-z,]*)?:/' "/proc/$p/cgroup" 2>/dev/null | sort -r | head -n 1)
  [ -n "$line" ] || continue
  path=${line#*:*:}
  echo "== cgroup of pid $p: $path"
  for d in "/sys/fs/cgroup$path" "/sys/fs/cgroup/memory$path" /sys/fs/cgroup /sys/fs/cgroup/memory; do
    [ -e "$d/memory.max" ] || [ -e "$d/memory.limit_in_bytes" ] || continue
    for f in memory.max memory.current memory.limit_in_bytes memory.usage_in_bytes; do
      [ -r "$d/$f" ] && echo "$f $(cat "$d/$f" 2>/dev/null)"
    done
    grep -h '^oom_kill ' "$d/memory.events" "$d/memory.oom_control" 2>/dev/null
    break
  done
done
true
"""
)

_HEAD = lazy(r"== cgroup of pid ([0-9]{1,10}): (/.{0,1000})$")
_VALUE = lazy(r"(memory\.(?:max|current|limit_in_bytes|usage_in_bytes)|oom_kill) (max|[0-9]{1,19})\s*$")
_NO_LIMIT = 1 << 62  # version 1 prints "no limit" as a number near 2**63


def parse(texts: Sequence[Text]) -> Cgroups | None:
    """Return one entry for each process."""
    found = [one for text in texts for one in _read(text)]
    return Cgroups(tuple(found)) if found else None


def _read(text: Text) -> list[Cgroup]:
    found: list[Cgroup] = []
    for index, line in enumerate(text.lines):
        if head := _HEAD.match(line):
            found.append(Cgroup(int(head[1]), head[2], text.quote(index)))
        elif found and (value := _VALUE.match(line)):
            found[-1] = _with(found[-1], value[1], value[2], text.quote(index))
    return found


def _with(cgroup: Cgroup, name: str, value: str, quote: Quote) -> Cgroup:
    number = -1 if value == "max" or int(value) >= _NO_LIMIT else int(value)
    limit, used, kills = cgroup.limit, cgroup.used, cgroup.oom_kills
    if name == "oom_kill":
        return Cgroup(cgroup.pid, cgroup.path, quote if number else cgroup.quote, limit, used, number)
    if name in ("memory.max", "memory.limit_in_bytes"):
        limit = number
    else:
        used = number
    return Cgroup(cgroup.pid, cgroup.path, cgroup.quote, limit, used, kills)


PROBE = Probe(
    name="cgroups",
    makes=Cgroups,
    parse=parse,
    recognise=lambda text: any(line.startswith("== cgroup of pid ") and _HEAD.match(line) for line in text.lines),
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "the memory limit of each GPU process's cgroup, and whether the kernel killed at it",
            name="gpu process cgroups",
        ),
    ),
)
