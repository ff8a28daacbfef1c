"""Containers that run engines, as `docker inspect` describes them, put into the words of `docker run`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from qops.adoption.found import Found, Reader
from qops.adoption.options import Option
from qops.adoption.script import assembled
from qops.errors import UsageError
from qops.flags.shell import Word

_SHM = 64 << 20  # bytes: docker's default
_USUAL = ("", "default", "bridge")


def is_inspected(text: str) -> bool:
    """Return whether `text` looks like what `docker inspect` prints."""
    return text.lstrip().startswith(("[", "{")) and '"HostConfig"' in text


def read(text: str, source: str, reader: Reader) -> list[Found]:
    """Return the engines among the containers in `text`, which may hold their images too.

    UsageError, with file and line, for what is no JSON.
    """
    rows: list[Any] = []
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, getattr(error, "pos", at)) + 1
            raise UsageError(f"{source}:{line}: no JSON: {getattr(error, 'msg', error)}") from error
        rows += value if isinstance(value, list) else [value]
    known = [row for row in rows if isinstance(row, dict)]
    images = {str(row.get("Id")): _list(_mapping(row.get("Config")).get("Env")) for row in known if "RepoTags" in row}
    made = [_container(row, source, images, reader) for row in known if "HostConfig" in row]
    return [one for one in made if one is not None]


def _container(row: Mapping[str, Any], source: str, images: Mapping[str, list[Any]], reader: Reader) -> Found | None:
    config, host = _mapping(row.get("Config")), _mapping(row.get("HostConfig"))
    name = str(row.get("Name") or "").lstrip("/")
    made = Found(f"{source}, container {name}", 0, runtime="docker", image=str(config.get("Image") or ""))
    own = images.get(str(row.get("Image")))
    if own is None:
        made.leave(0, "environment", "the image was not seen, so variables of its own may be among these")
    given = [("--name", Word(name))]
    given += [("--env", Word(str(one))) for one in _list(config.get("Env")) if one not in (own or ())]
    given += _of_host(host)
    given += _mounts(made, row)
    if config.get("User"):
        given.append(("--user", Word(str(config["User"]))))
    entry, command = ([Word(str(one)) for one in _list(config.get(key))] for key in ("Entrypoint", "Cmd"))
    return assembled(made, entry, command, given, {}, reader)


def _of_host(host: Mapping[str, Any]) -> Iterator[Option]:
    for inside, places in _mapping(host.get("PortBindings")).items():
        for place in map(_mapping, _list(places)):
            yield "--publish", Word(_port(str(place.get("HostIp") or ""), str(place.get("HostPort") or ""), inside))
    for request in map(_mapping, _list(host.get("DeviceRequests"))):
        names = [str(one).removeprefix("nvidia.com/gpu=") for one in _list(request.get("DeviceIDs"))]
        count = request.get("Count")
        yield "--gpus", Word(f"device={','.join(names)}" if names else "all" if count in (-1, None) else str(count))
    for device in map(_mapping, _list(host.get("Devices"))):
        yield "--device", Word(str(device.get("PathOnHost") or ""))
    if host.get("Runtime") == "nvidia":
        yield "--runtime", Word("nvidia")
    if str(host.get("NetworkMode") or "") not in _USUAL:
        yield "--network", Word(str(host["NetworkMode"]))
    if host.get("IpcMode") == "host":
        yield "--ipc", Word("host")
    if host.get("ShmSize") not in (None, 0, _SHM):
        yield "--shm-size", Word(str(host["ShmSize"]))
    if (policy := str(_mapping(host.get("RestartPolicy")).get("Name") or "no")) != "no":
        yield "--restart", Word(policy)
    if _list(host.get("Ulimits")):
        yield "--ulimit", Word(", ".join(str(_mapping(one).get("Name")) for one in _list(host["Ulimits"])))
    yield from (("--cap-add", Word(str(one))) for one in _list(host.get("CapAdd")))
    if host.get("Privileged"):
        yield "--privileged", Word("")
    for key, name in (("Memory", "--memory"), ("CpusetCpus", "--cpuset-cpus"), ("CpusetMems", "--cpuset-mems")):
        if host.get(key):
            yield name, Word(str(host[key]))


def _mounts(made: Found, row: Mapping[str, Any]) -> Iterator[Option]:
    for mount in map(_mapping, _list(row.get("Mounts"))):
        source, target = str(mount.get("Source") or ""), str(mount.get("Destination") or "")
        if mount.get("Type") not in ("bind", "volume") or not (source and target):
            made.leave(0, f"mount at {target}", f"type {mount.get('Type')} is none of the role's")
            continue
        if mount.get("Type") == "volume":
            made.leave(0, f"volume {mount.get('Name')} at {target}", f"its folder is taken over: {source}")
        yield "--volume", Word(f"{source}:{target}{':ro' if mount.get('RW') is False else ''}")


def _port(address: str, outside: str, inside: str) -> str:
    shown = f"[{address}]" if ":" in address else address
    return ":".join(part for part in (shown, outside, inside) if part)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
