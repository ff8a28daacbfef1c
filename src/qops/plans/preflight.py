"""The plan of the role preflight: whether a host is what the other roles need. It never changes anything."""

from collections.abc import Iterator, Mapping
from typing import Any

from qops.data import systems
from qops.derive import readiness
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.readiness import Judged, Target
from qops.derive.setting import Setting, State
from qops.errors import UsageError
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import Gpus
from qops.evidence.kernel import System
from qops.evidence.pcie import PcieTree
from qops.evidence.readiness import Clock, Contacts, Disks
from qops.evidence.text import Gaps
from qops.inventory.host import CLASSES, is_true
from qops.plans import container_engine, container_toolkit, model_store, nvidia_driver
from qops.plans.base import Options, Plan, RolePlan, Seen
from qops.probes import clock, contacts
from qops.probes.base import Probe

# Where roles fetch from; what stands there by default is not tried, since a host that has all it needs asks nobody.
_SOURCES = {
    "nvidia_driver_repository": nvidia_driver.PLAN.defaults["repository"],
    "container_engine_repository": container_engine.PLAN.defaults["repository"],
    "container_toolkit_repository": container_toolkit.PLAN.defaults["repository"],
    "model_store_endpoint": model_store.PLAN.defaults["endpoint"],
}
_ALSO = {
    **_SOURCES,
    "model_store_models": [],
    "model_store_root": model_store.PLAN.defaults["root"],
    "container_engine_daemon": {},
    "group_names": [],
}


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    wanted = _targets(options)
    setup: DriverSetup | None = seen.get(DriverSetup)
    machine: System | None = seen.get(System)
    judged: dict[str, Judged | None] = {
        "hardware": _hardware(hardware, options),
        "system": _system(machine, setup, options),
        "kernel": _kernel(machine, setup, hardware),
        "driver": _owner(setup),
        "secure boot": _secure_boot(setup),
        **_disks(seen.get(Disks), options),
        "clock": readiness.clock(seen[Clock]) if Clock in seen else None,
    }
    if wanted:
        judged |= _contacts(seen, wanted, options)
    grave = [one for one in judged.values() if one and one.note and one.grave]
    light = [one for one in judged.values() if one and one.note and not one.grave]
    return Plan(
        settings=tuple(_setting(key, one) for key, one in judged.items()),
        refused=tuple(one.note for one in grave),
        notes=(*(one.note for one in light), *_skipped(options, wanted)),
        facts={"hardware_class": str(hardware.value)},
    )


def asks(options: Options) -> tuple[Probe, ...]:
    """Return what is asked of this host alone: its clock beside ours, and the addresses that its inventory names."""
    wanted = _targets(options) if options["reach"] != "skip" and not is_true(options["offline"]) else ()
    return (clock.compared(), *((contacts.to(wanted),) if wanted else ()))


def _setting(key: str, judged: Judged | None) -> Setting:
    if judged is None:
        return Setting(key, "", "", "", State.UNSEEN, "the host did not say")
    return Setting(key, "", judged.value, "", State.SET, judged.because)


def _hardware(hardware: Derived[HardwareClass], options: Options) -> Judged:
    found = str(hardware.value)
    if hardware.value is HardwareClass.UNKNOWN:
        hint = "Set qops_hardware_class for this host if you know better"
        return Judged(found, hardware.because, f"{hardware.because}. {hint}", grave=True)
    others = [name for name in CLASSES if name in options["group_names"] and name != found]
    if others:
        note = f"the inventory has it in group {others[0]}, and it is {found} ({hardware.because}): move it"
        return Judged(found, hardware.because, note, grave=True)
    return Judged(found, hardware.because)


def _system(machine: System | None, setup: DriverSetup | None, options: Options) -> Judged | None:
    if machine is None or setup is None or not machine.os:
        return None
    known = systems.BY_KEY.get(systems.key(machine.os, setup.dgx))
    if known is not None:
        how = {
            systems.Tested.CONVERGED: "the roles are run on it in the lab",
            systems.Tested.RENDERED: "what the roles write and install there is tested, and was never run",
            systems.Tested.VENDOR: "its vendor owns driver and containers, and the roles leave them",
        }
        return Judged(known.title, how[known.tested])
    titles = ", ".join(system.title for system in systems.ALL)
    note = f"{machine.os} is none of the systems that qops knows ({titles}); preflight_any_system: true goes on"
    return Judged(machine.os, "not among the systems that qops knows", note, grave=not is_true(options["any_system"]))


def _kernel(machine: System | None, setup: DriverSetup | None, hardware: Derived[HardwareClass]) -> Judged | None:
    release = (setup.kernel if setup else "") or (machine.kernel if machine else "")
    if not release:
        return None
    flavour, whose, mind = systems.kernel(release)
    if not flavour:
        return Judged(release, "of no flavour that is known: a module for it is built on the host, with its headers")
    if hardware.value is HardwareClass.SPARK and not flavour.startswith("nvidia"):
        mind = "a Spark needs the vendor's kernel (-nvidia), which knows its memory and its network"
    return Judged(release, f"{whose} ({flavour})", f"kernel {release}: {mind}" if mind else "")


def _owner(setup: DriverSetup | None) -> Judged | None:
    if setup is None:
        return None
    if setup.dgx:
        return Judged("the vendor's", f"{setup.dgx}: driver and containers are updated by it, and left alone here")
    if setup.run_file:
        note = "the driver was installed by a .run file, which packages know nothing of: nvidia-uninstall comes first"
        return Judged("installed by a .run file", "no package owns it", note)
    if setup.disk_version:
        return Judged(setup.disk_version, "the module on disk; the role nvidia_driver owns it")
    if "nvidia" in setup.loaded:
        return Judged("loaded", "no module on disk: it came from elsewhere; the role nvidia_driver brings its packages")
    return Judged("none", "no module on disk; the role nvidia_driver installs it")


def _secure_boot(setup: DriverSetup | None) -> Judged | None:
    if setup is None or setup.secure_boot is None:
        return Judged("not known", "the firmware did not say") if setup else None
    if setup.secure_boot:
        return Judged("on", "the kernel takes only signed modules, so the driver must come signed, or its key enrolled")
    return Judged("off", "modules need no signature")


def _disks(disks: Disks | None, options: Options) -> dict[str, Judged | None]:
    needed: dict[str, tuple[float, str]] = {"/": (5, "packages")}
    needed[str(options["container_engine_daemon"].get("data-root") or "/var/lib/docker")] = (
        _number(options["images_gb"], "preflight_images_gb"),
        "images",
    )
    needed[str(options["model_store_root"])] = (_number(options["weights_gb"], "preflight_weights_gb"), "weights")
    for path, gigabytes in options["paths"].items():
        if not str(path).startswith("/"):
            raise UsageError(f"preflight_paths has {path!r}", "give absolute paths: {/srv/data: 200}")
        needed[str(path)] = (_number(gigabytes, "preflight_paths"), "what the inventory keeps there")
    if disks is None:
        return {f"disk {path}": None for path in needed}
    return {f"disk {path}": judged for path, judged in readiness.space(disks, needed).items()}


def _number(value: Any, name: str) -> float:
    try:
        number = float(str(value))  # -e gives texts
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:
        raise UsageError(f"{name} has {value!r}", "give gigabytes as a number")
    return number


def _targets(options: Options) -> tuple[Target, ...]:
    if options["reach"] not in ("report", "require", "skip"):
        raise UsageError(f"preflight_reach cannot be {options['reach']!r}", "give report, require or skip")
    urls = [str(url) for url in options["urls"]]
    for name, default in _SOURCES.items():
        own = str(options[name])
        if ("://" in own and own != default) or (name == "model_store_endpoint" and options["model_store_models"]):
            urls.append(own)
    found: dict[Target, None] = {}
    for url in urls:
        where = readiness.target(url)
        if where is None:
            if url in [str(u) for u in options["urls"]]:
                raise UsageError(f"preflight_urls has {url!r}", "give https://NAME, http://NAME or NAME:PORT")
            continue  # file:// and the like need no network
        found[where] = None
    return tuple(found)


def _contacts(seen: Seen, wanted: tuple[Target, ...], options: Options) -> Iterator[tuple[str, Judged | None]]:
    if options["reach"] == "skip" or is_true(options["offline"]):
        return
    if Contacts not in seen:
        gaps: Gaps = seen.get(Gaps, Gaps())
        if any(gap.probe == contacts.PROBE.name for gap in gaps.gaps):
            yield "network", None
        return  # nobody asked: `qops plan` looks at many hosts by the same questions
    for name, one in readiness.reached(seen[Contacts], wanted).items():
        grave = one.grave and options["reach"] == "require"
        yield f"reach {name}", Judged(one.value, one.because, one.note, grave)


def _skipped(options: Options, wanted: tuple[Target, ...]) -> tuple[str, ...]:
    if not wanted or not (is_true(options["offline"]) or options["reach"] == "skip"):
        return ()
    why = "preflight_offline is true" if is_true(options["offline"]) else "preflight_reach is skip"
    return (f"not tried, since {why}: {', '.join(host for host, _, _ in wanted)}",)


DEFAULTS: Mapping[str, Any] = {
    "manage": True,
    "reach": "report",
    "offline": False,
    "urls": [],
    "images_gb": 40,
    "weights_gb": 20,
    "paths": {},
    "any_system": False,
    "own_variables": [],
    "plain_secrets": False,
}
PLAN = RolePlan(
    role="preflight",
    kinds=(Gpus, PcieTree, System, DriverSetup, Disks, Clock, Contacts),
    defaults=DEFAULTS,
    make=make,
    needs_class=False,
    also=_ALSO,
    asks=asks,
)
