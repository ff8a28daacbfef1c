"""Docker's daemon.json: what stands in it, what it should have besides, and what stops docker from reading it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from qops.data import container_engines
from qops.derive import json_file
from qops.derive.json_file import Content, Values, merged
from qops.derive.setting import Setting, setting
from qops.evidence.container_engine import ContainerEngine, DaemonFlag, DaemonJson
from qops.evidence.text import Quote

PATH = "/etc/docker/daemon.json"
Wanted = Mapping[tuple[str, ...], tuple[Any, str]]
"""Paths of keys to the value that should be there, and why."""

# Flags whose key in daemon.json has another name (docker/cli docs/reference/dockerd.md). A key that is also passed as
# a flag stops the daemon: "the following directives are specified both as a flag and in the configuration file".
_KEYS = {
    "H": "hosts", "host": "hosts", "add-runtime": "runtimes", "feature": "features", "log-opt": "log-opts",
    "exec-opt": "exec-opts", "storage-opt": "storage-opts", "insecure-registry": "insecure-registries",
    "registry-mirror": "registry-mirrors", "label": "labels", "cdi-spec-dir": "cdi-spec-dirs", "g": "data-root",
    "graph": "data-root", "D": "debug", "s": "storage-driver", "default-ulimit": "default-ulimits",
}  # fmt: skip


def read(file: DaemonJson | None) -> Content:
    """Return the content of a daemon.json; no file says nothing."""
    return json_file.read("\n".join(file.lines)) if file else Content()


def problem(content: Content) -> str:
    """Return why docker cannot read the file, with file and line; "" when it can."""
    return f"{PATH}:{content.line} {content.problem}" if content.problem else ""


def clashes(keys: Sequence[str], flags: Sequence[DaemonFlag]) -> tuple[tuple[str, DaemonFlag], ...]:
    """Return the top-level keys that a flag sets too, which stops the daemon, each with that flag."""
    return tuple((key, flag) for flag in flags if (key := _KEYS.get(flag.name, flag.name)) in keys)


def stops(engine: ContainerEngine) -> tuple[tuple[str, Quote], ...]:
    """Return why docker cannot start with its configuration as it is, each with the line to look at."""
    file = engine.daemon_json
    content = read(file)
    if file is not None and content.problem:
        shown = file.lines[content.line - 1].strip()[:200] if 0 < content.line <= len(file.lines) else ""
        return ((problem(content), Quote(PATH, content.line, shown)),)
    return tuple(
        (f"{key} stands in {PATH} and is passed by {flag.quote.source}:{flag.quote.line} too", flag.quote)
        for key, flag in clashes(tuple(content.values), engine.flags)
    )


def refusals(content: Content, wanted: Values, flags: Sequence[DaemonFlag]) -> list[str]:
    """Return why `wanted` cannot be merged: what is there is no JSON, or of another kind, or a flag says it too."""
    if content.problem:
        return [f"{problem(content)}: docker does not start with it, so mend or remove the file"]
    reasons = [
        f"{key} is passed to dockerd by {flag.quote.source}:{flag.quote.line}, and docker does not start with the same"
        f" key in {PATH}: take the flag out there, or leave this key to it"
        for key, flag in clashes((*content.values, *wanted), flags)
    ]
    reasons += [
        f"{PATH} has {key} as a {type(content.values[key]).__name__}, where docker wants an object"
        for key, value in wanted.items()
        if isinstance(value, dict) and not isinstance(content.values.get(key, {}), dict)
    ]
    return reasons


def settings(content: Content, wanted: Wanted) -> list[Setting]:
    """Return a setting for each wanted value; none where nothing can be read."""
    found = []
    for path, (value, because) in wanted.items() if not content.problem else ():
        current: Any = content.values
        for key in path:
            current = current.get(key) if isinstance(current, dict) else None
        now = "" if current is None else _shown(current)
        found.append(setting("docker " + ".".join(path), _shown(value), now, because, path=PATH))
    return found


def tree(wanted: Wanted) -> dict[str, Any]:
    """Return wanted values as they stand in the file."""
    result: dict[str, Any] = {}
    for path, (value, _) in wanted.items():
        inner: dict[str, Any] = {path[-1]: value}
        for key in reversed(path[:-1]):
            inner = {key: inner}
        result = merged(result, inner)
    return result


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def entries(engine: ContainerEngine, wanted: Values) -> list[dict[str, Any]]:
    """Return what qops_files needs to bring `wanted` into the file."""
    if not wanted:
        return []
    folder = [] if engine.daemon_json else [{"dest": "/etc/docker", "state": "directory"}]
    # The docker that is there says whether it would start with the new file, before it is put in place.
    knows = container_engines.number(engine.info.version) >= container_engines.DOCKER_VALIDATES
    validate = {"validate": "dockerd --validate --config-file %s"} if knows else {}
    return [*folder, {"dest": PATH, "merge": dict(wanted), **validate}]


def changes(content: Content, wanted: Values) -> bool:
    """Return whether the file does not have `wanted` yet."""
    return merged(content.values, wanted) != content.values
