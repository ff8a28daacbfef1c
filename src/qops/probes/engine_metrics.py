"""The counters of a serving engine: Prometheus text from its `/metrics`, three times over ten seconds."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from qops.evidence.engine import EngineMetrics, MetricsSample
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

MOST_NAMES = 3000
MOST_SAMPLES = 1000

_HEADER = lazy(r"=== metrics(?: port (?P<port>\d{1,5}))?\b", re.ASCII)
# https://prometheus.io/docs/instrumenting/exposition_formats/: name{labels} value [milliseconds]
_SAMPLE = lazy(
    r"^\s*(?P<name>[a-zA-Z_:][\w:]{0,150})(?:\{.{0,4000}\})? +(?P<value>[+-]?[\w.+-]{1,40})(?: +-?\d{1,20})?\s*$",
    re.ASCII,
)
_ENGINE = lazy(r"^\s*(?:vllm|sglang):[a-z]\w{1,150}(?:\{| +[+\-\d])", re.ASCII)
# Buckets are thousands of lines of which only sums and counts are used; `_created` is the time of the start.
_LEFT_OUT = ("_bucket", "_created")
_PREFIXES = ("vllm:", "sglang:", "vllm_", "sglang_", "process_", "http_")

# Ports on which a vLLM or SGLang process listens: its own --port, else the engine's default. `ss` names the
# process only to its owner and root, so the command lines in /proc are read instead; an engine in a container is
# asked inside its network. Up to four engines side by side, 3 s each; 2 MB is several times what an engine prints.
_SCRIPT = r"""
# The brackets keep grep from finding itself.
found=$(timeout -s KILL 2 grep -lsaiE '[v]llm|[s]glang' /proc/[0-9]*/cmdline 2>/dev/null)
[ -n "$found" ] || exit 1 # no engine: nothing to follow
own=$(readlink /proc/self/ns/net)
find_engines() {
  for f in $found; do
    c=$(tr '\0' ' ' 2>/dev/null <"$f") || continue
    case $c in
      *"=== metrics port"*) continue ;; # this script itself
      *VLLM::APIServer*|*vllm*serve*|*vllm.entrypoints*) p=8000 ;;
      *sglang.launch_server*|*"sglang serve"*) p=30000 ;;
      *) continue ;;
    esac
    s=$(printf '%s\n' "$c" | sed -n 's/.*--port[ =]\([0-9][0-9]*\).*/\1/p')
    i=${f#/proc/}; i=${i%/cmdline}
    echo "${s:-$p} $(readlink "/proc/$i/ns/net" || echo "$own") $i"
  done | sort -u -k 1,2 | head -n 4
}
get() {
  url=http://127.0.0.1:$1/metrics; shift
  if command -v curl >/dev/null; then "$@" curl -s -f --noproxy '*' -m 3 "$url"
  elif command -v python3 >/dev/null; then
    "$@" timeout 4 python3 -c 'import sys, urllib.request as u
o = u.build_opener(u.ProxyHandler({})).open(sys.argv[1], timeout=3)
sys.stdout.write(o.read(2000000).decode("utf-8", "replace"))' "$url"
  else echo "not asked: neither curl nor python3 is here"; fi 2>/dev/null || echo "no answer"
}
report() { out=$(get "$@" | grep -v '_bucket{' | head -c 2000000); printf '=== metrics port %s\n%s\n' "$1" "$out"; }
find_engines | {
  while read -r port net pid; do
    if [ "$net" = "$own" ]; then report "$port" & else report "$port" nsenter -t "$pid" -n & fi
  done
  wait
}
""".strip()


def parse(texts: Sequence[Text]) -> EngineMetrics | None:
    """Return every scrape in `texts`, in order of time, or None. Pure and total."""
    samples: list[MetricsSample] = []
    for text in texts:
        heads = [i for i, line in enumerate(text.lines) if "=== metrics" in line and _HEADER.search(line)]
        bounds = [*([] if heads and heads[0] == 0 else [0]), *heads, len(text.lines)]
        for start, end in pairwise(bounds):
            sample = _scrape(text, start, end)
            if sample is not None and len(samples) < MOST_SAMPLES:
                samples.append(sample)
    if not samples:
        return None
    if all(s.at is not None for s in samples):
        samples.sort(key=lambda s: s.at or 0.0)
    return EngineMetrics(tuple(samples))


def _scrape(text: Text, start: int, end: int) -> MetricsSample | None:
    values: dict[str, float] = {}
    quote: Quote | None = None
    for index in range(start, end):
        line = text.lines[index]
        if not line.lstrip().startswith(_PREFIXES):
            continue
        sample = _SAMPLE.match(line)
        if sample is None or sample["name"].endswith(_LEFT_OUT):
            continue
        value = _number(sample["value"])
        name = sample["name"]
        if value is None or (name not in values and len(values) >= MOST_NAMES):
            continue
        values[name] = values.get(name, 0.0) + value
        if quote is None and _ENGINE.match(line):
            quote = text.quote(index)
    if quote is None:
        return None
    header = _HEADER.search(text.lines[start])
    return MetricsSample(text.at, values, quote, int(header["port"]) if header and header["port"] else None)


def _number(printed: str) -> float | None:
    try:
        value = float(printed)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def recognise(text: Text) -> bool:
    """Tell whether `text` holds metrics of vLLM or SGLang."""
    return any(_ENGINE.match(line) for line in text.lines)


PROBE = Probe(
    name="engine-metrics",
    makes=EngineMetrics,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", _SCRIPT),
            why="reads the engine's own counters three times: tokens that stand still show a hang",
            timeout=9.0,
            root=True,
            samples=(0.0, 5.0, 10.0),
            live_only=True,
            name="engine metrics",
        ),
    ),
    families=("nccl", "serve"),
    literals=("vllm:", "sglang:", "=== metrics"),
)
