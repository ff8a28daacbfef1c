"""Which driver is installed and which is loaded, and what nvidia-smi says when it cannot work."""

from __future__ import annotations

from dataclasses import dataclass

from . import faults, modules_on_disk, store
from .hardware import Hardware

# Texts of nvidia-smi, as owners quote them; the second line came with the 5xx drivers.
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {}\n"
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n\n"
)
NOTHING = "none"  # what stands for a driver that is not installed
# How the two flavours of the module name themselves, and their licence.
MODULES = {"open": "Open Kernel Module for {}", "proprietary": "{} Kernel Module"}
LICENCES = {"open": "Dual MIT/GPL", "proprietary": "NVIDIA"}
MISMATCH_STATUS = 18  # NVML_ERROR_LIB_RM_VERSION_MISMATCH
NO_DRIVER_STATUS = 9  # NVML_ERROR_DRIVER_NOT_LOADED


@dataclass(frozen=True)
class Versions:
    """The driver in two places. `module` is empty where no module is loaded."""

    library: str
    module: str


def installed(hardware: Hardware, part: str) -> str:
    """Return the installed version of `library` or `module`.

    The lab's stand-in packages write it to a file of one line, `none` when they are removed; without a
    file it is the scenario's.
    """
    return store.read_line(store.var() / ("driver-" + part)) or hardware.driver


def absent(hardware: Hardware, planted: faults.Faults) -> bool:
    """Tell whether there is no module that the running kernel could load."""
    if planted.has(faults.NO_MODULE) and not modules_on_disk.built(faults.kernel(planted, hardware.kernel)):
        return True
    return installed(hardware, "module") == NOTHING


def flavour() -> str:
    """Return the flavour of the installed module, `open` or `proprietary`; the stand-in packages write it."""
    found = store.read_line(store.var() / "driver-flavour")
    return found if found in MODULES else "open"


def versions(hardware: Hardware, planted: faults.Faults) -> Versions:
    """Return what is in place now: the library from the disk, the module as it was loaded at boot."""
    library = str(planted.value(faults.MISMATCH, "library", "")) if planted.has(faults.MISMATCH) else ""
    if planted.has(faults.MISMATCH) and not library:
        branch, _, rest = hardware.driver.partition(".")
        library = f"{branch}.{int(rest.split('.')[0]) + 14}.02"
    if not library:
        library = installed(hardware, "library")
    loaded = store.root() / "proc/driver/nvidia/version"
    if not (store.root() / "proc").is_dir():  # the tree was not laid out: nothing says otherwise
        return Versions(library, installed(hardware, "module"))
    words = store.read_line(loaded).split("  ")
    return Versions(library, words[1] if len(words) > 1 else "")


def failure(found: Versions) -> tuple[str, int] | None:
    """Return nvidia-smi's error and exit status, or nothing where the driver works."""
    if not found.module:
        return NO_DRIVER, NO_DRIVER_STATUS
    if found.module != found.library:
        return MISMATCH.format(".".join(found.library.split(".")[:2])), MISMATCH_STATUS
    return None
