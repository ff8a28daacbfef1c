"""The plan of the role container_engine: docker or podman, and what docker's daemon.json says."""

import re
from collections.abc import Mapping
from typing import Any

from qops.data import container_engines as data
from qops.derive import daemon_json
from qops.derive.container_engine import Choice, choose, count
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.json_file import Content
from qops.derive.setting import Setting, State, setting
from qops.errors import UsageError
from qops.evidence.container_engine import ContainerEngine
from qops.evidence.kernel import System
from qops.evidence.packages import Packages
from qops.inventory.host import is_true
from qops.plans.base import Options, Plan, RolePlan, Seen

DEFAULTS: dict[str, Any] = {
    "manage": True,
    "kind": "docker",
    "source": "auto",
    "repository": data.DOCKER_REPOSITORY,
    "daemon": {},
    "log_max_size": "auto",
    "log_max_files": "auto",
    "restart": False,
}
_LOG_SIZE, _LOG_FILES = "100m", "5"
_ROTATED = ("json-file", "local")  # the drivers that take max-size and max-file; local has limits of its own
_SIZE = re.compile(r"[0-9]{1,6}[kmg]")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_VENDOR = (
    "this is the vendor's system (/etc/dgx-release): docker, its flags and its updates are the vendor's, and stay as"
    " they are"
)
Wanted = dict[tuple[str, ...], tuple[Any, str]]


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    _check(options)
    engine, packages, system = seen.get(ContainerEngine), seen.get(Packages), seen.get(System)
    if engine is None or packages is None or system is None:
        missing = [k.__name__ for k in (ContainerEngine, Packages, System) if seen.get(k) is None]
        return Plan(settings=(Setting("container engine", "", "", "", State.UNSEEN, ", ".join(missing)),))
    unsafe = () if _works(engine) else ("no container engine runs here, so no container can serve",)
    if engine.vendor_image:
        return Plan(notes=(_VENDOR,), unsafe=unsafe, facts=_facts())
    choice = choose(system.os, packages, engine, kind=options["kind"], source=options["source"])
    refused = [choice.refused] if choice.refused else _strange(engine, packages, options["kind"])
    if refused:
        return Plan(refused=tuple(refused), unsafe=unsafe)
    notes = [choice.note] if choice.note else []
    settings = [_package(name, choice, packages) for name in choice.packages]
    if choice.engine == "podman":
        return Plan(tuple(settings), unsafe=unsafe, notes=tuple(notes), facts=_facts(choice, packages=packages))
    content = daemon_json.read(engine.daemon_json)
    wanted = _wanted(choice, content, options, {flag.name for flag in engine.flags})
    tree = daemon_json.tree(wanted)
    refused = daemon_json.refusals(content, tree, engine.flags)
    settings += daemon_json.settings(content, wanted)
    state, daemon, more = _daemon(engine, daemon_json.changes(content, tree), options)
    settings += daemon
    facts = _facts(choice, packages=packages, system=system, repository=str(options["repository"]))
    facts["files"] = [*facts["files"], *daemon_json.entries(engine, tree), *_enabling(engine, choice, system)]
    facts["docker"] = state
    return Plan(tuple(settings), tuple(refused), unsafe, (*notes, *more), facts)


def _check(options: Options) -> None:
    for name, known in (("kind", ("docker", "podman")), ("source", ("auto", "distribution", "docker"))):
        if options[name] not in known:
            raise UsageError(f"container_engine_{name} cannot be {options[name]!r}", f"one of {', '.join(known)}")
    if not isinstance(options["daemon"], dict):
        raise UsageError("container_engine_daemon is no mapping", "give keys of daemon.json and their values")
    size, files = str(options["log_max_size"]), str(options["log_max_files"])
    if size not in ("auto", "leave") and not _SIZE.fullmatch(size):
        raise UsageError(f"container_engine_log_max_size cannot be {size!r}", "give 100m, auto or leave")
    if files not in ("auto", "leave") and not (files.isascii() and files.isdigit() and int(files) > 0):
        raise UsageError(f"container_engine_log_max_files cannot be {files!r}", "give a number from 1, auto or leave")


def _works(engine: ContainerEngine) -> bool:
    return engine.active == "active" or bool(engine.podman)


def _strange(engine: ContainerEngine, packages: Packages, kind: str) -> list[str]:
    """Return why the docker that is here cannot be worked with."""
    if kind != "docker":
        return []
    if engine.docker.startswith("/snap/") or engine.docker.endswith("/snap"):
        return ["docker is a snap, which does not see the host's driver: snap remove docker, then run this again"]
    if packages.version("podman-docker"):
        return ["docker is podman's (package podman-docker): remove it, or take container_engine_kind: podman"]
    if engine.unit == "masked":
        return ["docker.service is masked, by someone who meant it: systemctl unmask docker.service"]
    return []


def _package(name: str, choice: Choice, packages: Packages) -> Setting:
    there = packages.version(name)
    return setting(f"package {name}", there or "installed", there, choice.because)


def _wanted(choice: Choice, content: Content, options: Options, flags: set[str]) -> Wanted:
    wanted: Wanted = {}
    if choice.cdi:
        because = "GPUs come by CDI, and stay in containers when systemd is reloaded"
        wanted["features", "cdi"] = (True, because)
    driver = content.values.get("log-driver", "json-file")
    limits = content.values.get("log-opts")
    kept = limits if isinstance(limits, dict) else {}
    for option, key, default in (("size", "max-size", _LOG_SIZE), ("files", "max-file", _LOG_FILES)):
        said = str(options[f"log_max_{option}"])
        if said == "auto" and driver == "json-file" and not flags & {"log-driver", "log-opt"}:
            because = "without a limit the logs of containers fill the disk"
            wanted["log-opts", key] = (kept.get(key, default), because)
        elif said not in ("auto", "leave"):
            if driver not in _ROTATED:
                hint = "set container_engine_log_max_size and _files to leave"
                raise UsageError(f"the log driver {driver} of {daemon_json.PATH} takes no {key}", hint)
            wanted["log-opts", key] = (said, "the inventory says so")
    _add(wanted, (), options["daemon"])
    return wanted


def _add(wanted: Wanted, path: tuple[str, ...], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            _add(wanted, (*path, str(key)), value)
        else:
            wanted[(*path, str(key))] = (value, "the inventory says so")


def _daemon(engine: ContainerEngine, changes: bool, options: Options) -> tuple[str, list[Setting], list[str]]:
    """Return what to do with the daemon ("", "started", "restarted"), its settings, and notes."""
    if not engine.docker or engine.unit != "loaded":
        return "started", [], []
    if engine.active != "active":
        return "started", [setting("docker.service", "active", engine.active, "containers need it")], []
    info = engine.info
    if not info.version:
        asked = f"docker info says: {info.error or 'nothing'}"
        return "", [Setting("docker.service", "", "", "", State.UNSEEN, asked)], []
    if not (changes or engine.behind):
        return "", [], []
    value, because = "runs with this daemon.json", "what stands there takes effect when docker starts"
    if not info.running or is_true(options["restart"]):
        return "restarted", [setting("docker.service", value, "runs with an older one", because)], []
    note = (
        f"docker runs with an older daemon.json and is not restarted, because {count(info.running, 'container')}"
        f" {'runs' if info.running == 1 else 'run'}: do it when {'it' if info.running == 1 else 'they'} may end, or"
        " set container_engine_restart: true"
    )
    if info.live_restore:
        note += ". live-restore is on, so they would outlive a restart"
    return "", [Setting("docker.service", "", value, "runs with an older one", State.LEFT, "containers run")], [note]


def _enabling(engine: ContainerEngine, choice: Choice, system: System) -> list[dict[str, str]]:
    """Return the link that starts docker at boot. Debian's packages make it themselves when they are installed."""
    offer = data.offer(system.os)
    el = offer is not None and offer.folder == "rhel"
    if engine.enabled == "enabled" or not (engine.docker or el) or choice.engine != "docker":
        return []
    wants = "/etc/systemd/system/multi-user.target.wants/docker.service"
    return [{"dest": wants, "state": "link", "src": "/usr/lib/systemd/system/docker.service"}]


def _facts(
    choice: Choice | None = None,
    *,
    packages: Packages | None = None,
    system: System | None = None,
    repository: str = "",
) -> dict[str, Any]:
    """Return what tasks use: packages to install and by which manager, files, the repository's key."""
    missing = [n for n in choice.packages if not packages.version(n)] if choice and packages else []
    facts: dict[str, Any] = {
        "manager": packages.manager if packages else "",
        "packages": missing,
        "unfinished": list(packages.unfinished) if packages else [],
        "files": [],
        "key": {},
        "docker": "",
    }
    offer = data.offer(system.os) if system else None
    if not (choice and choice.source == "docker" and missing and offer and system):
        return facts
    base = f"{repository.rstrip('/')}/{offer.folder}"
    if facts["manager"] == "dpkg":
        key = "/etc/apt/keyrings/docker.asc"
        arch = _ARCHITECTURES.get(system.machine, system.machine)
        line = f"deb [arch={arch} signed-by={key}] {base} {offer.suite} stable\n"
        facts["files"] = [
            {"dest": "/etc/apt/keyrings", "state": "directory"},
            {"dest": "/etc/apt/sources.list.d/docker.list", "content": line},
        ]
        facts["key"] = {"url": f"{base}/gpg", "dest": key}
    else:
        content = (
            f"[docker-ce-stable]\nname=Docker CE Stable\nbaseurl={base}/$releasever/$basearch/stable\nenabled=1\n"
            f"gpgcheck=1\ngpgkey={base}/gpg\n"
        )
        facts["files"] = [{"dest": "/etc/yum.repos.d/docker-ce.repo", "content": content}]
    return facts


PLAN = RolePlan(
    role="container_engine",
    kinds=(ContainerEngine, Packages, System),
    defaults=DEFAULTS,
    make=make,
    needs_class=False,
)
