"""How the CPUs choose their clock: governors, the driver, and cppc_cpufreq's autonomous selection."""

import re
from collections import Counter
from collections.abc import Sequence

from qops.evidence.kernel import CpuFrequency
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# Paths relative to /sys, which QOPS_ROOT moves. `none` tells a host without cpufreq from one that was not asked.
SCRIPT = """\
[ -d "$QOPS_ROOT/sys/devices/system/cpu" ] || QOPS_ROOT=
cd "$QOPS_ROOT/sys" || exit 1
for f in devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor \\
  devices/system/cpu/cpu[0-9]*/cpufreq/scaling_available_governors \\
  devices/system/cpu/cpu0/cpufreq/scaling_driver module/cppc_cpufreq/parameters/auto_sel_mode
do
  [ -r "$f" ] && read -r v <"$f" && echo "/sys/$f:$v"
done
ls -d devices/system/cpu/cpu[0-9]*/cpufreq >/dev/null 2>&1 || echo '/sys/devices/system/cpu/cpufreq: none'
"""

_FILE = lazy(
    r"\s*/sys/devices/system/cpu/(?:cpu|cpufreq/policy)([0-9]{1,5})/(?:cpufreq/)?"
    r"(scaling_governor|scaling_available_governors|scaling_driver)\s*[:=]\s*([\w\- ]{1,200}?)\s*",
    re.ASCII,
)
_AUTONOMOUS = lazy(r"\s*/sys/module/cppc_cpufreq/parameters/auto_sel_mode\s*[:=]\s*([01YN])\s*", re.ASCII)
_NONE = "/sys/devices/system/cpu/cpufreq: none"
_CLUES = ("scaling_", "auto_sel_mode", _NONE)


def recognise(text: Text) -> bool:
    """Whether a line is a cpufreq file with its value, as `grep . FILES` prints it."""
    return any(any(clue in line for clue in _CLUES) and _matches(line) for line in text.lines)


def _matches(line: str) -> bool:
    return bool(_FILE.fullmatch(line) or _AUTONOMOUS.fullmatch(line) or line.strip() == _NONE)


def parse(texts: Sequence[Text]) -> CpuFrequency | None:
    """Return what the files say; the last value of a file wins."""
    governors: dict[str, str] = {}  # CPU to governor
    available: dict[str, tuple[str, ...]] = {}
    driver = ""
    quote: Quote | None = None
    autonomous: bool | None = None
    seen = False
    for text in texts:
        for index, line in enumerate(text.lines):
            if len(line) > 400 or not any(clue in line for clue in _CLUES):
                continue
            if found := _FILE.fullmatch(line):
                cpu, name, value = found.groups()
                if name == "scaling_governor":
                    governors[cpu] = value
                    quote = quote or text.quote(index)
                elif name == "scaling_available_governors":
                    available[cpu] = tuple(value.split())
                else:
                    driver = value
            elif found := _AUTONOMOUS.fullmatch(line):
                autonomous = found[1] in "1Y"
            elif line.strip() != _NONE:
                continue
            seen = True
    if not seen:
        return None
    each = list(available.values())
    shared = tuple(name for name in each[0] if all(name in one for one in each)) if each else ()
    return CpuFrequency(dict(Counter(governors.values())), shared, driver, autonomous, quote)


PROBE = Probe(
    name="cpu_frequency",
    makes=CpuFrequency,
    parse=parse,
    recognise=recognise,
    asks=(Command(("sh", "-c", SCRIPT), "how the CPUs choose their clock", name="cpufreq"),),
)
