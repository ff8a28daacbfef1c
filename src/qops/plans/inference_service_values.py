"""Single values of the role inference_service's variables, checked."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from qops.derive import service_limits
from qops.derive.service import Mount, words_of
from qops.errors import UsageError
from qops.evidence.gpu import Gpus

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")
_IMAGE = re.compile(r"[a-zA-Z0-9][\w./:@-]{0,400}", re.A)
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_ADDRESS = re.compile(r"[0-9a-fA-F.:]{2,45}")
_VOLUME = re.compile(r"/[^:\s,]*:/[^:\s,]*(:r[ow])?")
_SECRET = re.compile(r"(?:TOKEN|PASSWORD|SECRET|_KEY|APIKEY|CREDENTIALS?)$", re.I)


def name(given: object, keys: frozenset[str]) -> str:
    """Return a service's name. UsageError for what is no description of a service."""
    if not isinstance(given, Mapping) or set(map(str, given)) - keys:
        strange = sorted(set(map(str, given)) - keys) if isinstance(given, Mapping) else [repr(given)]
        raise UsageError(f"inference_service_instances holds {', '.join(strange)}", f"known: {', '.join(sorted(keys))}")
    found = str(given.get("name", ""))
    if not _NAME.fullmatch(found):
        raise UsageError(f"service {found!r} is no name", "lower-case letters, digits and hyphens")
    return found


def image(service: str, given: object) -> str:
    """Return an image's name, or "" for none."""
    if given and not _IMAGE.fullmatch(str(given)):
        raise UsageError(f"service {service}: {given!r} is no image", "give REPOSITORY:TAG, a digest or an image id")
    return str(given or "")


def user(service: str, given: object) -> str:
    """Return a user's name, root's by default."""
    if not _USER.fullmatch(str(given or "root")):
        raise UsageError(f"service {service}: {given!r} is no user", "give the name of a user of the host")
    return str(given or "root")


def address(service: str, given: object) -> str:
    """Return an address to listen on."""
    if not _ADDRESS.fullmatch(str(given)):
        raise UsageError(f"service {service}: {given!r} is no address", "127.0.0.1, 0.0.0.0 or one of the host's")
    return str(given)


def words(service: str, command: object, runtime: str, secrets: Sequence[str]) -> tuple[str, ...]:
    """Return a command's words; none for a container that runs what its image says."""
    if command is None and runtime != "venv" and not secrets:
        return ()
    plain = isinstance(command, list) and all(isinstance(word, (str, int, float)) for word in command)
    if not (plain or isinstance(command, str)):
        raise UsageError(f"service {service} has no command", "give one line, or a list of words: vllm serve MODEL …")
    found = words_of(command) if isinstance(command, str) else tuple(map(str, command))  # type: ignore[call-overload]
    if any("\n" in word or "\0" in word for word in found):
        raise UsageError(f"service {service}: a word of its command has a line break", "a unit cannot hold that")
    if runtime == "venv" and not (found and found[0].startswith("/")):
        told = found[0] if found else "nothing"
        hint = "systemd starts programs by their path: /opt/vllm/bin/vllm serve …"
        raise UsageError(f"service {service}: {told} is no absolute path", hint)
    if runtime != "venv" and secrets and (not found or found[0].startswith("-")):
        raise UsageError(f"service {service}: with secrets the whole command is needed", "vllm serve MODEL …")
    return found


def port(service: str, given: object, told: int | None, default: int | None) -> tuple[int, bool]:
    """Return the port, and whether the command has to be told."""
    if given is None:
        port = told or default
        if port is None:
            raise UsageError(f"service {service} does not say its port", "give `port`")
        return port, False
    text = str(given)
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536):
        raise UsageError(f"service {service}: port cannot be {text!r}", "give a number from 1 to 65535")
    if told is not None and told != int(text):
        raise UsageError(f"service {service} has port {text}, and its command says {told}", "say it in one place")
    return int(text), told is None and int(text) != default


def gpus(service: str, given: object, seen: Gpus | None, *, only: bool) -> tuple[tuple[int, ...], bool]:
    """Return indexes, and whether these are all GPUs of the host."""
    there = {gpu.index: gpu.uuid for gpu in seen.gpus} if seen else {}
    if given is None and not only:
        raise UsageError(f"service {service} does not say its gpus", "where several services run, each names its own")
    if given in (None, "all"):
        return tuple(sorted(there)), True
    if not isinstance(given, list):
        raise UsageError(f"service {service}: gpus cannot be {given!r}", "give all, or a list of indexes or UUIDs")
    found = []
    for one in map(str, given):
        index = next((i for i, uuid in there.items() if one in (str(i), uuid)), None)
        if index is None:
            known = ", ".join(map(str, sorted(there))) or "none"
            raise UsageError(f"service {service}: there is no GPU {one} on this host", f"there are: {known}")
        found.append(index)
    return tuple(sorted(set(found))), bool(there) and set(found) == set(there)


def is_secret(variable: str) -> bool:
    """Return whether a variable of this name holds a secret."""
    return _SECRET.search(variable) is not None


def environment(service: str, given: object) -> dict[str, str]:
    """Return a service's variables, none of which may be a secret."""
    if not isinstance(given, Mapping):
        if given is None:
            return {}
        raise UsageError(f"service {service}: environment is no mapping", "give names and values")
    for variable, value in given.items():
        if not _VARIABLE.fullmatch(str(variable)) or re.search(r"[\x00-\x1f]", str(value)):
            raise UsageError(f"service {service}: the variable {variable!r} cannot be", "give NAME: value, on one line")
        if is_secret(str(variable)) and str(value):
            raise UsageError(
                f"service {service}: {variable} looks like a secret", "put it into inference_service_secrets"
            )
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in given.items()}


def limits_of(engine: str, load: int) -> dict[str, str]:
    """Return the engine's own time limits: its defaults end a slow load, and keep a hang for minutes."""
    if engine != "vllm":
        return {}
    told = service_limits.timeouts(engine, 0, bound=False)
    return {one.name: one.value for one in told if one.value} | {"VLLM_ENGINE_READY_TIMEOUT_S": str(load)}


def volumes(service: str, given: object) -> tuple[Mount, ...]:
    """Return what a container sees of the host."""
    if given is None:
        return ()
    if not isinstance(given, list) or not all(_VOLUME.fullmatch(str(v)) for v in given):
        raise UsageError(f"service {service}: volumes cannot be {given!r}", "give a list of /HOST:/CONTAINER[:ro]")
    parts = [str(one).split(":") for one in given]
    return tuple(Mount(part[0], part[1], writable=part[2:] != ["ro"]) for part in parts)


def secrets(given: object) -> dict[str, tuple[str, ...]]:
    """Return the names of the secrets of each service, never their values."""
    if not isinstance(given, Mapping) or not all(isinstance(one, Mapping) for one in given.values()):
        raise UsageError("inference_service_secrets is no mapping", "SERVICE: {NAME: value}")
    for service, values in given.items():
        for variable, value in values.items():
            # One form for systemd and for a shell, which reads it in a container.
            if not _VARIABLE.fullmatch(str(variable)) or re.search(r"['\x00-\x1f]", str(value)) or not str(value):
                hint = "give NAME: value, without quotes and line breaks"
                raise UsageError(f"inference_service_secrets.{service}.{variable} cannot be", hint)
    return {str(service): tuple(map(str, values)) for service, values in given.items() if values}


def number(service: str, key: str, given: Mapping[Any, Any], default: int) -> int:
    """Return a number of seconds."""
    text = str(given.get(key, default))
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise UsageError(f"service {service}: {key} cannot be {text!r}", "give a number of seconds")
    return int(text)


def smoke(service: str, given: object) -> tuple[Mapping[str, str], ...]:
    """Return the questions that are asked before and after a change. UsageError for what is none."""
    if given is None:
        return ()
    hint = '[{"prompt": "What is 2 + 2?", "contains": "4"}]'
    if not isinstance(given, list):
        raise UsageError(f"service {service}: smoke is no list of questions", hint)
    for one in given:
        if not isinstance(one, Mapping) or not one.get("prompt") or set(one) - {"prompt", "contains", "matches"}:
            raise UsageError(f"service {service}: {one!r} is no question", hint)
        try:
            re.compile(str(one.get("matches", "")))
        except re.error as error:
            raise UsageError(f"service {service}: {one['matches']!r} is no regular expression: {error}", hint) from None
    return tuple({key: str(value) for key, value in one.items()} for one in given)
