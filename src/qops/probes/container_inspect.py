"""What `docker inspect` and `podman inspect` print."""

import json
from collections.abc import Mapping
from typing import Any

from qops.errors import ParseError
from qops.evidence.container import Container
from qops.evidence.text import Quote, Text
from qops.pattern import lazy

_START = lazy(r"^\s*(?:\[\s*\{?|\{)\s*(?:\"(?:Id|Created|Name|HostConfig|State)\".*)?$")
_MARKS = ('"HostConfig"', '"ShmSize"', '"IpcMode"', '"OOMKilled"', '"NetworkMode"')
_MOST = 20  # places in one text where JSON may start; each try reads as far as it goes
_LONGEST = 20_000_000  # characters
_FIELDS = lazy(
    r"^\s*\"(ShmSize|IpcMode|Runtime|NetworkMode|OOMKilled|ExitCode|Running|Pid|Image|Name)\"\s*:"
    r"\s*(-?[0-9]{1,18}|true|false|\"[^\"]{0,300}\")\s*,?\s*$"
)


def is_inspect(text: Text) -> bool:
    """Return whether `text` holds such JSON, or lines of it."""
    return any(mark in line for line in text.lines for mark in _MARKS)


def containers(text: Text) -> tuple[Container, ...]:
    """Return the containers that `text` describes; raise ParseError when its JSON is cut or damaged."""
    whole = "\n".join(text.lines)[:_LONGEST]
    starts = _line_starts(text)
    decoder = json.JSONDecoder()
    found: list[Container] = []
    failed: tuple[int, str] | None = None
    end = tries = 0
    for index, line in enumerate(text.lines):
        if starts[index] < end or not _START.match(line[:300]) or tries >= _MOST:
            continue
        tries += 1
        try:
            value, end = decoder.raw_decode(whole, starts[index] + len(line) - len(line.lstrip()))
        except (ValueError, RecursionError) as error:
            failed = failed or (text.number(index), f"JSON cannot be read: {str(error)[:120]}")
            continue
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, dict) and ("HostConfig" in item or "State" in item):
                found.append(_container(item, text.quote(index)))
    if found:
        return tuple(found)
    if failed:
        raise ParseError(text.source, *failed)
    return _excerpt(text)


def _line_starts(text: Text) -> list[int]:
    starts = [0]
    for line in text.lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _container(item: Mapping[str, Any], quote: Quote) -> Container:
    host, state, config = (_mapping(item.get(key)) for key in ("HostConfig", "State", "Config"))
    environment = tuple((n, v) for n, _, v in (str(e).partition("=") for e in _list(config.get("Env"))))
    runtime = str(host.get("Runtime") or "")
    gpus_by = _gpus_by(host, runtime)
    return Container(
        name=str(item.get("Name") or item.get("Id") or "").lstrip("/")[:200],
        quote=quote,
        image=str(config.get("Image") or item.get("ImageName") or item.get("Image") or "")[:400],
        running=_flag(state.get("Running")),
        exit_code=_number(state.get("ExitCode")),
        oom_killed=_flag(state.get("OOMKilled")),
        runtime=runtime,
        shm_size=_number(host.get("ShmSize")),
        ipc_mode=str(host.get("IpcMode") or ""),
        network_mode=str(host.get("NetworkMode") or ""),
        pid=_number(state.get("Pid")),
        restart=str(_mapping(host.get("RestartPolicy")).get("Name") or ""),
        memlock=_memlock(host.get("Ulimits")),
        capabilities=tuple(str(c) for c in _list(host.get("CapAdd"))),
        gpus_requested=bool(gpus_by),
        gpus_by=gpus_by,
        environment=environment,
        command=tuple(str(c) for c in (*_list(config.get("Entrypoint")), *_list(config.get("Cmd")))),
    )


def _gpus_by(host: Mapping[str, Any], runtime: str) -> str:
    """Return how the container asked for GPUs; what lasts over a reload of systemd comes first."""
    requests = [_mapping(r) for r in _list(host.get("DeviceRequests"))]
    devices = json.dumps(_list(host.get("Devices")))[:100_000]
    if any("nvidia.com/gpu" in str(d) for r in requests for d in _list(r.get("DeviceIDs"))) or "nvidia.com/" in devices:
        return "cdi"
    if "/dev/nvidia" in devices:
        return "devices"
    if any("gpu" in json.dumps(_list(r.get("Capabilities"))) or "nvidia" in str(r.get("Driver")) for r in requests):
        return "gpus"
    return "runtime" if runtime == "nvidia" else ""


def _memlock(ulimits: object) -> int | None:
    for one in _list(ulimits):
        entry = _mapping(one)
        if str(entry.get("Name")).lower().removeprefix("rlimit_") == "memlock":
            return _number(entry.get("Soft"))
    return None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: object) -> int | None:
    return value if type(value) is int else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _excerpt(text: Text) -> tuple[Container, ...]:
    """Read single lines of the JSON, as people paste them."""
    values: dict[str, str] = {}
    first: Quote | None = None
    for index, line in enumerate(text.lines):
        match = _FIELDS.match(line[:1000])
        if match and match[1] not in values:
            values[match[1]] = match[2].strip('"')
            first = first or text.quote(index)
    if first is None or not set(values) - {"Name", "Image", "Pid", "Running"}:
        return ()
    flags = {"true": True, "false": False}

    def number(name: str) -> int | None:
        value = values.get(name, "")
        return int(value) if value.lstrip("-").isascii() and value.lstrip("-").isdigit() else None

    return (
        Container(
            name=values.get("Name", "").lstrip("/"),
            quote=first,
            image=values.get("Image", ""),
            running=flags.get(values.get("Running", "")),
            exit_code=number("ExitCode"),
            oom_killed=flags.get(values.get("OOMKilled", "")),
            runtime=values.get("Runtime", ""),
            shm_size=number("ShmSize"),
            ipc_mode=values.get("IpcMode", ""),
            network_mode=values.get("NetworkMode", ""),
            pid=number("Pid"),
            gpus_requested=True if values.get("Runtime") == "nvidia" else None,
        ),
    )
