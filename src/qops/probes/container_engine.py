"""Docker and podman: what is installed, daemon.json, the flags of the daemon, and what it says of itself."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from qops.evidence.container_engine import ContainerEngine, DaemonFlag, DaemonJson, DockerInfo
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# One shell. Files come with their numbers, so that what is quoted is where a person finds it. A daemon that hangs must
# not hold the rest up. /etc/sysconfig/docker and /etc/default/docker are the distributions' environment files.
SCRIPT = r"""LC_ALL=C; export LC_ALL
echo '== container engine'
[ -e /etc/dgx-release ] && echo '== vendor image'
if client=$(command -v docker); then echo "== docker $(readlink -f "$client")"; fi
command -v podman >/dev/null && echo "== $(podman --version)"
f=/etc/docker/daemon.json
if [ -e $f ]; then
  echo "== daemon.json $(stat -L -c %Y $f)"
  head -c 1000000 $f | grep -n ''
  echo '== end'
fi
if [ -d /run/systemd/system ]; then
  show=$(systemctl show docker.service -p LoadState -p ActiveState -p UnitFileState -p ExecMainStartTimestamp \
    -p FragmentPath -p DropInPaths)
  printf '%s\n' "$show" | grep -E '^(Load|Active|UnitFile)State='
  since=$(printf '%s\n' "$show" | sed -n 's/^ExecMainStartTimestamp=//p')
  case "$show" in *ActiveState=active*) [ -n "$since" ] && echo "== started $(date -d "$since" +%s)" ;; esac
  for f in $(printf '%s\n' "$show" | sed -n 's/^\(FragmentPath\|DropInPaths\)=//p') \
    /etc/default/docker /etc/sysconfig/docker; do
    [ -r "$f" ] && grep -nHE -e '^[[:space:]]*ExecStart=|[ ="]-[-a-zA-Z]' "$f" | grep -vE ':Exec(Reload|Stop)'
  done
fi
[ -n "$client" ] && timeout 8 "$client" info --format '{{json .}}' 2>&1
true
"""

_CLIENT = lazy(r"== docker (/\S{1,300})\s*$")
_PODMAN = lazy(r"== podman version ([0-9][\w.+~\-]{0,40})\s*$")
_DAEMON_JSON = lazy(r"== daemon\.json ([0-9]{1,12})\s*$")
_NUMBERED = lazy(r"([0-9]{1,7}):")
_STATE = lazy(r"(Load|Active|UnitFile)State=([\w-]{0,40})\s*$")
_STARTED = lazy(r"== started ([0-9]{1,12})\s*$")
_UNIT_LINE = lazy(r"(/(?:etc|run|usr|lib)/[\w./@\-]{1,300}):([0-9]{1,7}):(.{0,4000})$")
_FLAG = lazy(r"(?<![\w\-./])--?([a-zA-Z][a-z\-]{0,40})(?![\w/.])")
_HEAD = "== container engine"


def recognise(text: Text) -> bool:
    """Return whether `text` is the answer of this probe's script."""
    return any(line.startswith(_HEAD) for line in text.lines)


def parse(texts: Sequence[Text]) -> ContainerEngine | None:
    """Return what the first such text says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.startswith(_HEAD):
                return _engine(text, index)
    return None


def _engine(text: Text, first: int) -> ContainerEngine:
    client = podman = ""
    vendor = False
    daemon: DaemonJson | None = None
    states: dict[str, str] = {}
    started: int | None = None
    flags: list[DaemonFlag] = []
    info = DockerInfo()
    index = first + 1
    while index < len(text.lines):
        line = text.lines[index]
        if match := _DAEMON_JSON.match(line):
            daemon, index = _daemon_json(text, index, int(match[1]))
        elif match := _CLIENT.match(line):
            client = match[1]
        elif match := _PODMAN.match(line):
            podman = match[1]
        elif line.startswith("== vendor image"):
            vendor = True
        elif match := _STATE.match(line):
            states[match[1]] = match[2]
        elif match := _STARTED.match(line):
            started = int(match[1])
        elif match := _UNIT_LINE.match(line):
            flags = _flags(flags, match[3], Quote(match[1], int(match[2]), match[3].strip()))
        elif line.startswith("{") or (client and not info.version and line.strip()):
            info = _info(line, text.quote(index))
        index += 1
    return ContainerEngine(
        vendor_image=vendor,
        docker=client,
        podman=podman,
        daemon_json=daemon,
        flags=tuple(flags),
        unit=states.get("Load", ""),
        active=states.get("Active", ""),
        enabled=states.get("UnitFile", ""),
        started=started,
        info=info,
        quote=text.quote(first),
    )


def _daemon_json(text: Text, head: int, modified: int) -> tuple[DaemonJson, int]:
    """Return the file, and the index of the line that ends it."""
    lines: list[str] = []
    index = head + 1
    while index < len(text.lines) and (match := _NUMBERED.match(text.lines[index])):
        lines.append(text.lines[index][match.end() :])
        index += 1
    quote = Quote("/etc/docker/daemon.json", 1 if lines else 0, lines[0].strip()[:2000] if lines else "")
    return DaemonJson(tuple(lines), quote, modified), index - 1


def _flags(before: list[DaemonFlag], line: str, quote: Quote) -> list[DaemonFlag]:
    """Return the flags after one more line: an empty `ExecStart=` in a drop-in takes back what stood before."""
    words = line.strip()
    if words.startswith(("#", ";")):
        return before
    if words == "ExecStart=":
        return [flag for flag in before if "ExecStart=" not in flag.quote.text]
    return [*before, *(DaemonFlag(name, quote) for name in dict.fromkeys(_FLAG.findall(words)))]


def _info(line: str, quote: Quote) -> DockerInfo:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return DockerInfo(error=line.strip()[:300], quote=quote)
    if not isinstance(said, dict):
        return DockerInfo(error=line.strip()[:300], quote=quote)
    errors = said.get("ServerErrors")
    runtimes, folders = said.get("Runtimes"), said.get("CDISpecDirs")
    running = said.get("ContainersRunning")
    return DockerInfo(
        version=_word(said, "ServerVersion"),
        runtimes=tuple(sorted(str(name) for name in runtimes)) if isinstance(runtimes, dict) else (),
        cdi_folders=tuple(str(folder) for folder in folders) if isinstance(folders, list) else (),
        live_restore=said.get("LiveRestoreEnabled") is True,
        cgroup_driver=_word(said, "CgroupDriver"),
        running=running if type(running) is int else 0,
        error="; ".join(str(e) for e in errors)[:300] if isinstance(errors, list) else "",
        quote=Quote(quote.source, quote.line, quote.text[:300]),
    )


def _word(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value[:100] if isinstance(value, str) else ""


PROBE = Probe(
    name="container_engine",
    makes=ContainerEngine,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "which container engine is there, how docker is configured, and what the daemon runs with",
            timeout=15.0,
            root=True,
            name="container engine",
        ),
    ),
    families=("cuda", "host"),
)
