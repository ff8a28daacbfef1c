"""Fragments of compose files."""

import re
from collections.abc import Iterator

from msgspec import Struct, field

from qops.evidence.container import Container
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.assignments import assignments
from qops.probes.sizes import limit, size

_KEY = lazy(r"^( *)(?:- )?([A-Za-z_][\w.\-]{0,60}):(?:\s+(\S.{0,1000}))?$")
_ITEM = lazy(r"^( *)- (\S.{0,300})$")
# Keys that a service of a compose file has and other YAML has not (compose specification).
_OWN = frozenset(("shm_size", "network_mode", "container_name", "ipc", "ulimits", "cap_add", "depends_on", "runtime"))
_STRONG = lazy(
    r"^\s*(?:shm_size:\s+\S|ipc:\s+[\"']?(?:host|private|shareable|service:)|runtime:\s+[\"']?nvidia|services:\s*$"
    r"|network_mode:\s+\S|container_name:\s+\S|driver:\s+[\"']?(?:nvidia|cdi)\b)"
)


class _Service(Struct):
    name: str
    indent: int
    quote: Quote
    first: int
    values: dict[str, str] = field(default_factory=dict)
    capabilities: list[str] = field(default_factory=list)
    gpus: bool = False
    memlock: int | None = None
    last: int = 0


def is_compose(text: Text) -> bool:
    """Return whether `text` holds lines that only a compose file has."""
    return any(":" in line and _STRONG.match(line[:300]) for line in text.lines)


def services(text: Text) -> Iterator[Container]:
    """Yield a container for each service in `text`; a fragment without a heading is one service."""
    current: _Service | None = None
    under = -1  # indentation of `services:`
    path: list[tuple[int, str]] = []
    for index, line in enumerate(text.lines):
        key = _KEY.match(line.rstrip()[:1200])
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        path = [p for p in path if p[0] < indent]
        if key and key[2] == "services" and not key[3]:
            under = indent
        elif key and under >= 0 and not key[3] and indent > under and all(n == "services" for _, n in path):
            yield from _finished(text, current)
            current = _Service(key[2], indent, text.quote(index), index)
        elif key and current is None and key[2] in _OWN and _STRONG.match(line[:300]):
            current = _Service("", indent - 1, text.quote(index), index)
        elif current is not None and indent <= current.indent and not (key is None and line.lstrip().startswith("- ")):
            yield from _finished(text, current)
            current, under = None, under if indent > under else -1
        if current is not None:
            current.last = index
            _note(current, key, line, path)
        if key:
            path.append((indent, key[2]))
    yield from _finished(text, current)


def _note(service: _Service, key: re.Match[str] | None, line: str, path: list[tuple[int, str]]) -> None:
    parents = [name for _, name in path]
    value = _plain(key[3] or "") if key else ""
    item = _ITEM.match(line.rstrip()[:400])
    if key and value and not set(parents) & {"environment", "deploy", "ulimits", "build", "healthcheck", "labels"}:
        service.values.setdefault(key[2], value)
    if key and "ulimits" in parents and (key[2] == "memlock" or ("memlock" in parents and key[2] == "soft")) and value:
        service.memlock = limit(value)
    if item and "cap_add" in parents:
        service.capabilities.append(_plain(item[2]))
    if re.search(r"driver:\s+[\"']?(?:nvidia|cdi)\b|nvidia\.com/gpu|capabilities:.*\bgpu\b|/dev/nvidia", line[:300]):
        service.gpus = True


def _finished(text: Text, service: _Service | None) -> Iterator[Container]:
    if service is None or not (set(service.values) & (_OWN | {"image", "gpus"}) or service.gpus):
        return
    values = service.values
    lines = text.lines[service.first : service.last + 1]
    yield Container(
        name=values.get("container_name", service.name),
        quote=service.quote,
        image=values.get("image", ""),
        runtime=values.get("runtime", ""),
        shm_size=size(values["shm_size"]) if "shm_size" in values else None,
        ipc_mode=values.get("ipc", ""),
        network_mode=values.get("network_mode", ""),
        restart=values.get("restart", ""),
        memlock=service.memlock,
        capabilities=tuple(service.capabilities),
        gpus_requested=service.gpus or values.get("runtime") == "nvidia" or "gpus" in values,
        environment=tuple((a.name, a.value) for a in assignments(lines)),
        command=tuple(values["command"].split()) if "command" in values and values["command"] not in ">|" else (),
    )


def _plain(value: str) -> str:
    value = value.split(" #")[0].strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
