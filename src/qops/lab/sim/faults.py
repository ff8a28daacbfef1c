"""The faults planted in a host, by cause id, as `qops lab break` writes them to faults.json."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import store

MISMATCH = "driver-library-version-mismatch"  # {"library": "580.173.02"}
NO_MODULE = "kernel-upgrade-no-module"  # {"kernel": "6.18.50-generic"}
NO_FABRIC = "fabric-manager-not-running"  # {}
ACS_REDIRECT = "p2p-slow-acs-redirect"  # {}
OFF_BUS = "gpu-fell-off-bus"  # {"gpu": 1}
THERMAL = "thermal-throttle"  # {"gpu": 0}, without it every GPU
POWER_CAP = "power-cap-below-need"  # {"watts": 200}, and {"gpu": 0} for one GPU
ECC = "gpu-memory-ecc-hardware"  # {"gpu": 0, "remapped": 2, "uncorrectable": 1}; "reset": true after a reset

# A boot loads the module of the installed version, takes spare rows for bad ones, and is a power cycle here: a practice
# host has no other.
ENDS_WITH_BOOT = (MISMATCH, OFF_BUS, ECC)


@dataclass(frozen=True)
class Faults:
    """What is planted; `planted` is when the file was written, in seconds since the epoch."""

    entries: Mapping[str, Any]
    planted: float

    def has(self, cause: str) -> bool:
        """Tell whether a cause is planted."""
        return cause in self.entries and self.entries[cause] is not False

    def value(self, cause: str, key: str, default: Any) -> Any:
        """Return a parameter of a cause."""
        parameters = self.entries.get(cause)
        return parameters.get(key, default) if isinstance(parameters, dict) else default

    def hits(self, cause: str, gpu: int, default: int | None = None) -> bool:
        """Tell whether a cause is planted for a GPU; one that names no GPU means `default`, or all."""
        if not self.has(cause):
            return False
        named = self.value(cause, "gpu", default)
        return named is None or int(named) == gpu


def kernel(planted: Faults, regular: str) -> str:
    """Return the kernel that runs: the scenario's, or the next one where an upgrade is planted."""
    if not planted.has(NO_MODULE):
        return regular
    named = str(planted.value(NO_MODULE, "kernel", ""))
    # 6.1.0-41-amd64 is followed by 6.1.0-42-amd64, 6.18.44-generic by 6.18.45-generic, 6.12.57+deb13-amd64 by 6.12.58.
    build = r"(?<=-)[0-9]+" if re.search(r"-[0-9]", regular) else r"[0-9]+(?=[-+]|$)"
    return named or re.sub(build, lambda found: str(int(found[0]) + 1), regular, count=1)


def _file() -> Path:
    return store.etc() / "faults.json"


def boot() -> None:
    """Take away what a boot ends."""
    entries = store.read_json(_file())
    rest = {cause: value for cause, value in entries.items() if cause not in ENDS_WITH_BOOT}
    if rest != entries:
        store.write_json(_file(), rest)


def reset(gpu: int) -> None:
    """Note that a GPU was reset: rows that waited are remapped, and what was counted since the last reset is gone."""
    entries = store.read_json(_file())
    if load().hits(ECC, gpu, 0):
        given = entries[ECC] if isinstance(entries[ECC], dict) else {}
        store.write_json(_file(), {**entries, ECC: {**given, "reset": True}})


def load() -> Faults:
    """Read the host's faults."""
    path = _file()
    try:
        planted = path.stat().st_mtime
    except OSError:
        planted = 0.0
    return Faults(store.read_json(path), planted)
