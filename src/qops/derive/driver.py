"""Which NVIDIA driver a host should have: flavour, version and source, each with its reason."""

import re
from collections.abc import Sequence

from qops.data import driver_packages as data
from qops.data.drivers import release
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.pattern import lazy

# Boards of the Blackwell generation by name and PCI id: GB10, RTX PRO, GeForce 50, B200 and what is built of it.
_BLACKWELL = lazy(
    r"Blackwell|\bGB(?:10|20[0-9]|100|200|300)\b|\bB[123]00\b|RTX 50[5-9]0|Device (?:29|2[b-d])[0-9a-f]{2}\b"
    r"|\[10de:(?:29|2[b-d]|2e1)[0-9a-f]{1,2}\]|Device 2e1[0-9a-f]\b",
    re.IGNORECASE,
)
_VERSION = lazy(r"[0-9]{3}(?:\.[0-9]{1,3}){0,2}")


def blackwell(names: Sequence[str]) -> str:
    """Return the first board that is of the Blackwell generation, or ""."""
    return next((n for n in names if _BLACKWELL.search(n)), "")


def flavour(names: Sequence[str], hardware: HardwareClass, chosen: str, there: str = "") -> Derived[str]:
    """Return "open" or "proprietary", the flavour of the kernel module; `there` is the one that is installed, or ""."""
    if chosen != "auto":
        return Derived(chosen, "the inventory says so")
    if needs_open(names, hardware):
        return Derived("open", "Blackwell works with the open kernel module alone")
    if there:
        return Derived(there, "the flavour that is there; the inventory names no other")
    return Derived("open", "the vendor's default since 560, and the only one from 620 on")


def needs_open(names: Sequence[str], hardware: HardwareClass) -> bool:
    """Return whether the GPUs work with the open kernel module alone."""
    return bool(blackwell(names)) or hardware in (HardwareClass.SPARK, HardwareClass.RTXPRO, HardwareClass.RTX5090)


def refused_flavour(names: Sequence[str], hardware: HardwareClass, wanted: str, branch: str) -> str:
    """Return why a flavour cannot be had, or ""."""
    if wanted == "open":
        return ""
    if needs_open(names, hardware):
        board = blackwell(names) or f"every board of class {hardware}"
        return (
            f"the proprietary kernel module does not know {board}: Blackwell needs the open one. "
            "Set nvidia_driver_flavour to open or auto"
        )
    if int(branch) >= data.FIRST_WITHOUT_PROPRIETARY:
        return (
            f"branch {branch} has no proprietary kernel module, the vendor dropped it with "
            f"{data.FIRST_WITHOUT_PROPRIETARY}. Set nvidia_driver_flavour to open, or an older nvidia_driver_version"
        )
    return ""


def version(chosen: str, installed: str, names: Sequence[str], hardware: HardwareClass) -> Derived[str]:
    """Return the branch ("580") or the full version to have.

    What is installed stays where nobody chose another, so that a driver never moves by itself.
    """
    if chosen != "auto":
        return Derived(chosen, "the inventory says so")
    if installed and not too_old(installed, names, hardware):
        branch = installed.partition(".")[0]
        return Derived(branch, "the branch that is there; the inventory names no other")
    old = f", and {installed} is too old for these GPUs" if installed else ""
    return Derived(data.LONG_TERM, f"the vendor's long-term branch, supported until June 2028{old}")


def is_version(text: str) -> bool:
    """Return whether `text` is a branch or a full version."""
    return bool(_VERSION.fullmatch(text))


def satisfied(wanted: str, installed: str) -> bool:
    """Return whether the installed version is the one, or of the branch, that is wanted."""
    return bool(installed) and (installed == wanted or installed.startswith(f"{wanted}."))


def too_old(wanted: str, names: Sequence[str], hardware: HardwareClass) -> str:
    """Return why a version cannot drive the GPUs, or ""."""
    numbers = release(wanted)
    if needs_open(names, hardware) and numbers and numbers[0] < data.FIRST_BLACKWELL:
        return (
            f"driver {wanted} does not know Blackwell, {data.FIRST_BLACKWELL} is the first that does. "
            f"Set nvidia_driver_version to {data.LONG_TERM} or later"
        )
    return ""


def archive(
    where: data.System, chosen: str, branch_or_version: str, *, secure_boot: bool, installed: Sequence[str]
) -> Derived[bool]:
    """Return whether the driver comes from the distribution's own archive, with modules built and signed there.

    Without a reason where there is no choice.
    """
    branch, _, rest = branch_or_version.partition(".")
    if chosen != "auto":
        return Derived(chosen == "archive", "the inventory says so")
    if not where.archive:
        return Derived(False, "")
    if any(n.startswith(("nvidia-driver-cuda", "nvidia-driver-pinning", "nvidia-dkms")) for n in installed):
        return Derived(False, "the installed driver is the vendor's")
    if branch not in where.archive:
        return Derived(False, "the distribution offers no signed modules for this branch")
    if rest:
        return Derived(False, "the distribution keeps its newest release of a branch alone")
    signed = "Secure Boot is on, and" if secure_boot else "they need no compiler and no key:"
    return Derived(True, f"{signed} the distribution signs its modules")
