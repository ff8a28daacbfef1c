"""The variables of the role nvidia_driver, checked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qops.derive import driver
from qops.errors import UsageError
from qops.inventory.host import is_true
from qops.plans.base import Options

DEFAULTS: Mapping[str, Any] = {
    "manage": True,
    "version": "auto",
    "flavour": "auto",
    "source": "auto",
    "repository": "auto",
    "parameters": {},
    "hold": True,
    "stop_clients": False,
    "clients": [],
    "key_enrolled": False,
}
_PARAMETER = re.compile(r"[A-Z][A-Za-z0-9]{1,60}")
_UNIT = re.compile(r"[\w@.\-:\\]{1,200}\.(?:service|target|scope|slice)")


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """What the inventory says of the driver."""

    version: str
    flavour: str
    source: str
    repository: str
    parameters: Mapping[str, str]
    hold: bool
    stop_clients: bool
    clients: tuple[str, ...]
    key_enrolled: bool


def options_of(given: Options) -> DriverOptions:
    """Return the options. UsageError for a value that cannot be."""
    version = str(given["version"])
    # Without quotes 580.10 is the number 580.1.
    if version != "auto" and (isinstance(given["version"], float) or not driver.is_version(version)):
        raise UsageError(
            f"nvidia_driver_version cannot be {version!r}",
            'give a branch such as "580", a full version such as "580.159.04", in quotes, or auto',
        )
    repository = str(given["repository"])
    if repository not in ("auto", "leave") and not repository.startswith(("https://", "http://", "file:/")):
        raise UsageError(f"nvidia_driver_repository cannot be {repository!r}", "give a URL, auto or leave")
    return DriverOptions(
        version=version,
        flavour=_one_of(given, "flavour", ("auto", "open", "proprietary")),
        source=_one_of(given, "source", ("auto", "vendor", "archive")),
        repository=repository.rstrip("/"),
        parameters=_parameters(given["parameters"]),
        hold=is_true(given["hold"]),
        stop_clients=is_true(given["stop_clients"]),
        clients=_clients(given["clients"]),
        key_enrolled=is_true(given["key_enrolled"]),
    )


def _one_of(given: Options, name: str, known: tuple[str, ...]) -> str:
    value = str(given[name])
    if value not in known:
        raise UsageError(f"nvidia_driver_{name} cannot be {value!r}", f"give {', '.join(known)}")
    return value


def _parameters(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise UsageError("nvidia_driver_parameters is no mapping", "give names of parameters with their values")
    found = {str(name).removeprefix("NVreg_"): str(value) for name, value in given.items()}
    for name, value in found.items():
        if not _PARAMETER.fullmatch(name) or '"' in value or "\n" in value:
            raise UsageError(
                f"nvidia_driver_parameters cannot have {name}={value!r}",
                "give names as in /proc/driver/nvidia/params, and values without quotes",
            )
    return found


def _clients(given: Any) -> tuple[str, ...]:
    units = [str(unit) for unit in given] if isinstance(given, list | tuple) else None
    wrong = units is None or [u for u in units if not _UNIT.fullmatch(u)]
    if wrong or units is None:
        raise UsageError(f"nvidia_driver_clients cannot be {given!r}", "give a list of units such as vllm.service")
    return tuple(units)
