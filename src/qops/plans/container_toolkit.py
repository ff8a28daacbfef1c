"""The plan of the role container_toolkit: packages, specification for CDI, and docker's nvidia runtime."""

import re
from typing import Any

from qops.data import container_engines
from qops.data import container_toolkit as data
from qops.derive import cdi as derive
from qops.derive import daemon_json
from qops.derive.container_engine import count, losing, reload_refusal
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State, setting
from qops.errors import UsageError
from qops.evidence.cdi import Cdi
from qops.evidence.container import Containers
from qops.evidence.container_engine import ContainerEngine
from qops.evidence.gpu import DriverModule
from qops.evidence.packages import Packages
from qops.inventory.host import is_true
from qops.plans.base import Options, Plan, RolePlan, Seen

DEFAULTS: dict[str, Any] = {
    "manage": True,
    "version": "auto",
    "repository": data.REPOSITORY,
    "hold": True,
    "runtime": True,
    "remove_old_cdi": False,
    "reload": False,
}
_VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}(?:-[0-9]{1,3})?")
_VENDOR = "this is the vendor's system (/etc/dgx-release): the container toolkit is the vendor's, and stays as it is"


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    said = str(options["version"])
    if said != "auto" and not _VERSION.fullmatch(said):
        raise UsageError(f"container_toolkit_version cannot be {said!r}", "give 1.20.0, 1.20.0-1 or auto")
    needed = (Cdi, ContainerEngine, Packages)
    missing = [kind.__name__ for kind in needed if seen.get(kind) is None]
    if missing:
        return Plan(settings=(Setting("container toolkit", "", "", "", State.UNSEEN, ", ".join(missing)),))
    cdi, engine, packages = seen[Cdi], seen[ContainerEngine], seen[Packages]
    unsafe = () if cdi.version else ("the NVIDIA container toolkit is not here, so no container gets a GPU",)
    if engine.vendor_image:
        return Plan(notes=(_VENDOR,), unsafe=unsafe, facts=_facts(packages))
    version = _version(said, packages)
    settings = [setting(name, version.value, packages.version(name), version.because) for name in data.PACKAGES]
    changes = any(s.state is State.DIFFERS for s in settings)
    settings.append(_hold(packages, options))
    refused: list[str] = []
    threatened = losing(seen.get(Containers), engine)
    if changes and threatened and not _on(options, "reload"):
        refused.append(reload_refusal(threatened, "installing the toolkit"))
    driver = seen.get(DriverModule)
    specification, notes = _specification(cdi, driver.version if driver else "", changes)
    settings.append(specification)
    settings += _refresh(cdi, version.value, changes, reloads=bool(threatened))
    facts = _facts(packages)
    facts |= {"version": version.value, "changes": changes, "held": settings[len(data.PACKAGES)].value == "yes"}
    facts["refresh"] = changes or specification.state is State.DIFFERS
    facts["units"] = [s.key for s in settings if s.key in data.UNITS and s.state is State.DIFFERS]
    old = [spec.path for spec in cdi.specs if spec.kind == "nvidia.com/gpu" and not spec.generated]
    if _on(options, "remove_old_cdi"):
        facts["files"] += [{"dest": path, "state": "absent"} for path in old]
        because = f"{data.SPECIFICATION} takes its place"
        settings += [setting(path, "absent", "there", because, path=path) for path in old]
    elif old:
        notes.append(
            f"{', '.join(old)} lies beside what the toolkit writes, and counts when that is missing: it was made by"
            " hand or by an older toolkit. container_toolkit_remove_old_cdi: true removes it"
        )
    sources = _sources(cdi, packages, changes, options)
    settings += sources["settings"]
    facts["files"] += sources["files"]
    facts["key"] = sources["key"]
    if cdi.no_cgroups:
        notes.append(f"{cdi.no_cgroups.source}:{cdi.no_cgroups.line} says no-cgroups, for rootless docker: it stays")
    runtime = _runtime(engine, options)
    settings += runtime["settings"]
    facts["files"] += runtime["files"]
    facts["docker"] = runtime["docker"]
    refused += runtime["refused"]
    return Plan(tuple(settings), tuple(refused), unsafe, tuple(notes), facts)


def _on(options: Options, name: str) -> bool:
    return is_true(options[name])


def _facts(packages: Packages) -> dict[str, Any]:
    return {
        "manager": packages.manager,
        "packages": list(data.PACKAGES),
        "unfinished": list(packages.unfinished),
        "version": "",
        "changes": False,
        "held": False,
        "refresh": False,
        "units": [],
        "files": [],
        "key": {},
        "docker": "",
        "specification": data.SPECIFICATION,
    }


def _version(said: str, packages: Packages) -> Derived[str]:
    if said != "auto":
        return Derived(said if "-" in said else f"{said}-1", "the inventory says so")
    there = {packages.version(name) for name in data.PACKAGES}
    (one,) = there if len(there) == 1 else ("",)
    if one and container_engines.number(one) >= data.REFRESHES:
        return Derived(one, "all four are there at one version, which writes its specification by itself")
    if len(there) > 1:
        return Derived(data.NEWEST, "the four belong together, and are here at different versions or not all")
    because = "it is the newest that qops knows"
    if one:
        because += f"; before {'.'.join(map(str, data.REFRESHES))} nothing kept the specification current"
    return Derived(data.NEWEST, because)


def _hold(packages: Packages, options: Options) -> Setting:
    held = all(name in packages.packages and packages.packages[name].held for name in data.PACKAGES)
    current = "yes" if held else "no"
    if not _on(options, "hold"):
        return Setting("held", "", "", current, State.LEFT, "the inventory says so")
    return setting("held", "yes", current, "an upgrade changes how containers get their GPUs: it comes when you say so")


def _specification(cdi: Cdi, driver: str, changes: bool) -> tuple[Setting, list[str]]:
    key = "specification of nvidia.com/gpu"
    if not driver:
        because = "no driver is loaded, so there is nothing to describe yet"
        return Setting(key, data.SPECIFICATION, "", "", State.ABSENT, because), []
    spec = cdi.effective()
    if spec is None:
        return setting(key, "current", "", "containers ask for GPUs by it", path=data.SPECIFICATION), []
    wrong = derive.stale(spec, cdi, driver)
    if wrong:
        why = f"{spec.path}: {wrong[0][0]}"
        return setting(key, "current", "stale", why, path=data.SPECIFICATION), []
    if changes:
        because = "it is written anew with the toolkit"
        return Setting(key, data.SPECIFICATION, "current", "current", State.SET, because), []
    count_of = count(len([n for n in spec.devices if n.isdigit()]), "GPU")
    return setting(key, "current", "current", f"{spec.path} describes {count_of}", path=data.SPECIFICATION), []


def _refresh(cdi: Cdi, version: str, changes: bool, *, reloads: bool) -> list[Setting]:
    """Return a setting for each refresh unit. Packages that are installed now enable them by themselves."""
    if changes or container_engines.number(version) < data.REFRESHES:
        return []
    found = []
    for name in data.UNITS:
        unit = cdi.units.get(name)
        if unit is None or unit.loaded != "loaded":
            continue
        because = "the specification follows the driver, and is there after each boot"
        if unit.enabled != "enabled" and reloads:
            because = "to enable it reloads systemd, and containers would lose their GPUs: do it when they have ended"
            found.append(Setting(name, "", "", unit.enabled, State.LEFT, because))
        else:
            found.append(setting(name, "enabled", unit.enabled, because))
    return found


def _sources(cdi: Cdi, packages: Packages, changes: bool, options: Options) -> dict[str, Any]:
    """Return settings, files and key of the repository."""
    found: dict[str, Any] = {"settings": [], "files": [], "key": {}}
    base = str(options["repository"]).rstrip("/")
    if base == "leave":
        return found
    named = {source.path: source.quote for source in cdi.sources}
    because = "beside the toolkit's own list apt stops at it (Conflicting values set for option Signed-By)"
    for path in [p for p in named if p in data.OLD_LISTS]:
        found["settings"].append(setting(path, "absent", "there", because, path=path))
        found["files"].append({"dest": path, "state": "absent"})
    others = [path for path in named if path not in data.OLD_LISTS]
    if others or not changes:
        return found
    if packages.manager == "dpkg":
        line = f"deb [signed-by={data.APT_KEY}] {base}/stable/deb/$(ARCH) /\n"
        found["files"].append({"dest": data.APT_LIST, "content": line})
        found["key"] = {"url": f"{base}/gpgkey", "dest": data.APT_KEY}
    else:
        content = (
            f"[nvidia-container-toolkit]\nname=nvidia-container-toolkit\nbaseurl={base}/stable/rpm/$basearch\n"
            f"repo_gpgcheck=1\ngpgcheck=0\nenabled=1\ngpgkey={base}/gpgkey\nsslverify=1\n"
        )
        found["files"].append({"dest": data.YUM_REPO, "content": content})
    return found


def _runtime(engine: ContainerEngine, options: Options) -> dict[str, Any]:
    """Return settings, files and what to do with docker for its nvidia runtime; nothing where docker is not there."""
    found: dict[str, Any] = {"settings": [], "files": [], "docker": "", "refused": []}
    if not _on(options, "runtime") or not engine.docker:
        return found
    content = daemon_json.read(engine.daemon_json)
    runtimes = content.values.get("runtimes")
    known = isinstance(runtimes, dict) and "nvidia" in runtimes
    flag = next((f for f in engine.flags if f.name == "add-runtime" and "nvidia=" in f.quote.text), None)
    if flag is not None and not known:
        because = f"{flag.quote.source}:{flag.quote.line} passes it to dockerd"
        found["settings"] = [Setting("docker runtimes.nvidia", "", "", "there", State.LEFT, because)]
        return found
    wanted = {} if known else {"runtimes": {"nvidia": dict(data.RUNTIME)}}
    found["refused"] = daemon_json.refusals(content, wanted, engine.flags)
    if found["refused"]:
        return found
    found["files"] = daemon_json.entries(engine, wanted)
    loaded = "nvidia" in engine.info.runtimes
    current = "known to docker" if known and loaded else "in daemon.json, docker runs without" if known else ""
    if engine.active != "active" or not engine.info.version:
        current = "known to docker" if known else ""  # it reads the file when it starts
    because = "containers that ask by --gpus or --runtime nvidia get their GPUs from it"
    found["settings"] = [setting("docker runtimes.nvidia", "known to docker", current, because, path=daemon_json.PATH)]
    if engine.active == "active" and current != "known to docker":
        # dockerd takes new runtimes on SIGHUP (docker/cli docs/reference/dockerd.md), which ends nothing.
        found["docker"] = "reloaded" if engine.info.running else "restarted"
    return found


PLAN = RolePlan(
    role="container_toolkit",
    kinds=(Cdi, ContainerEngine, Containers, DriverModule, Packages),
    defaults=DEFAULTS,
    make=make,
    needs_class=False,
)
