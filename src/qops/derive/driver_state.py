"""How the driver of a host stands beside how it should: one setting for each thing that can differ."""

from collections import Counter
from collections.abc import Iterator, Mapping

from qops.derive import driver
from qops.derive.derived import Derived
from qops.derive.driver_packages import PackageSet, installed, to_hold
from qops.derive.setting import Setting, State, setting
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import DriverModule, DriverParams
from qops.evidence.packages import Packages

VERSION, FLAVOUR, PACKAGES, LOADED = "driver.version", "driver.flavour", "driver.packages", "driver.loaded"
FABRIC = "driver.fabric"
PIN, HOLD, KERNELS, NOUVEAU = "driver.pin", "driver.hold", "driver.kernels", "nouveau"
INITRAMFS, CHANGE, PARAM, UNIT = "driver.initramfs", "driver.change", "driver.parameter.", "unit."
# What takes the driver away from the programs that use it.
DISRUPTIVE = (VERSION, FLAVOUR, LOADED, NOUVEAU, CHANGE)
FOR_EACH = "a module for each"


def installed_version(packages: Packages, lead: str = "") -> str:
    """Return the version of the installed driver: of `lead`, or what most of its packages say. "" for none."""
    found = installed(packages)
    if lead in found:
        return found[lead]
    return Counter(found.values()).most_common(1)[0][0] if found else ""


def installed_flavour(packages: Packages, setup: DriverSetup) -> str:
    """Return "open" or "proprietary" as the module on disk or its package says, "" where there is none."""
    if setup.disk_license:
        return "open" if "GPL" in setup.disk_license else "proprietary"
    named = [n for n in installed(packages) if "dkms" in n or "headless" in n]
    return "" if not named else "open" if any("open" in n for n in named) else "proprietary"


def without_module(setup: DriverSetup) -> tuple[str, ...]:
    """Return the installed kernels for which no NVIDIA module lies on disk."""
    return tuple(k for k in setup.kernels if k not in setup.kernels_with_module)


def not_whole(packages: Packages) -> tuple[str, ...]:
    """Return the driver's packages that are half installed or half configured."""
    return tuple(sorted(n for n in installed(packages) if not packages.packages[n].whole))


def of_other_version(packages: Packages, lead: str = "") -> tuple[str, ...]:
    """Return the driver's packages whose version is not the driver's."""
    version = installed_version(packages, lead)
    return tuple(sorted(n for n, v in installed(packages).items() if v != version))


def parameter_differs(name: str, wanted: str, params: DriverParams) -> bool:
    """Return whether the loaded module has another value of a parameter."""
    now = params.params.get(name)
    return now is not None and now != wanted and not _same_number(now, wanted)


def _same_number(one: str, other: str) -> bool:
    try:
        return int(one, 0) & 0xFFFFFFFF == int(other, 0) & 0xFFFFFFFF  # -1 is shown as 4294967295
    except ValueError:
        return False


def settings(
    wanted: PackageSet,
    version: Derived[str],
    flavour: Derived[str],
    *,
    packages: Packages,
    setup: DriverSetup,
    module: DriverModule | None,
    params: DriverParams | None,
    parameters: Mapping[str, str],
    hold: bool,
    fabric: Derived[bool | None],
) -> Iterator[Setting]:
    """Yield each setting, the driver itself first."""
    now = installed_version(packages, wanted.lead)
    right = driver.satisfied(version.value, now)
    state = State.SET if right else State.DIFFERS
    yield Setting(VERSION, "", version.value, now if state is State.DIFFERS else "", state, version.because)
    yield setting(FLAVOUR, flavour.value, installed_flavour(packages, setup), flavour.because)
    yield _packages(wanted, packages)
    if wanted.pin:
        there = wanted.pin if packages.version(wanted.pin) else ""
        yield setting(PIN, wanted.pin, there, "nothing but a chosen version may replace the driver")
    target = now if right else version.value
    loaded = module.version if module else ""
    yield Setting(
        LOADED,
        "",
        target,
        loaded,
        State.SET if driver.satisfied(target, loaded) and loaded else State.DIFFERS,
        "libraries of another version than the module do not work",
    )
    yield _kernels(setup)
    yield _hold(wanted, packages, hold)
    on = "nouveau" in setup.loaded
    because = "where it has the GPU, the driver does not get it"
    yield setting(NOUVEAU, "off", "loaded" if on else "off", because)
    for name, value in parameters.items():
        yield _parameter(name, value, params)
    if fabric.value is None:
        yield setting(FABRIC, "", None, fabric.because)
    yield from _units(setup, fabric)
    if setup.stale_initramfs:
        yield setting(
            INITRAMFS, "of the present options", "older", "it would load the module without them at the next boot"
        )
    if setup.unfinished:
        yield setting(CHANGE, "none under way", "one that did not end", "it is to be finished, or taken back")


def _packages(wanted: PackageSet, packages: Packages) -> Setting:
    missing = [n for n in (*wanted.versioned, *wanted.plain) if not packages.packages.get(n)]
    half, other = not_whole(packages), of_other_version(packages, wanted.lead)
    said = [
        f"without {', '.join(missing)}" if missing else "",
        f"half installed: {', '.join(half)}" if half else "",
        f"of another version: {', '.join(other)}" if other else "",
    ]
    current = "; ".join(filter(None, said))
    because = "the driver's parts belong together"
    state = State.DIFFERS if current else State.SET
    return Setting(PACKAGES, "", " ".join((*wanted.versioned, *wanted.plain)), current, state, because)


def _kernels(setup: DriverSetup) -> Setting:
    missing = without_module(setup)
    current = f"none for {', '.join(missing)}" if missing else FOR_EACH
    return setting(KERNELS, FOR_EACH, current, "the next boot may take any of the installed kernels")


def _hold(wanted: PackageSet, packages: Packages, hold: bool) -> Setting:
    if not hold:
        return Setting(HOLD, "", "", "", State.LEFT, "the inventory says so")
    names = to_hold(packages, wanted)
    loose = [n for n in names if not packages.packages[n].held]
    current = "" if not names else "all" if not loose else f"not {', '.join(loose)}"
    return setting(HOLD, "all", current, "an upgrade of everything else must not take the driver along")


def _parameter(name: str, value: str, params: DriverParams | None) -> Setting:
    key, because = f"{PARAM}{name}", "the inventory says so"
    if params is None:
        return Setting(key, "", value, "", State.DIFFERS, because)
    if name not in params.params:
        return Setting(key, "", value, "", State.ABSENT, "the loaded module has no such parameter")
    differs = parameter_differs(name, value, params)
    return Setting(key, "", value, params.params[name], State.DIFFERS if differs else State.SET, because)


def _units(setup: DriverSetup, fabric: Derived[bool | None]) -> Iterator[Setting]:
    wanted = {"nvidia-persistenced.service": "without it each first use of a GPU sets the GPU up anew"}
    if fabric.value:
        wanted["nvidia-fabricmanager.service"] = f"{fabric.because}, and without it CUDA does not start"
    for unit, because in wanted.items():
        yield setting(f"{UNIT}{unit}", "active", setup.units.get(unit, "absent"), because)
