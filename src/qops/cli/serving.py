"""The work of `qops plan HOST RECIPE`: looks at the hosts, plans the service, and writes the plan or one artefact."""

import ipaddress
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qops.errors import FAULT, HEALTHY, INCOMPLETE, INTERRUPTED, UNREACHABLE, UsageError
from qops.plans import service as services
from qops.plans.service import ServicePlan

if TYPE_CHECKING:
    from qops.recipes import Recipe

_NAME = re.compile(r"[a-z0-9][a-z0-9\-]{0,40}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")


def choices(name: str, gpus: str, port: int, address: str, secrets: tuple[str, ...]) -> services.Options:
    """Return what the command line chooses of a service. UsageError for what cannot be."""
    indexes = [part.strip() for part in gpus.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and len(part) < 5 for part in indexes):
        raise UsageError(f"--gpus cannot be {gpus!r}", "give indexes, such as 0,1,2,3")
    if name and not _NAME.fullmatch(name):
        raise UsageError(f"--name cannot be {name!r}", "at most 41 lower-case letters, digits and hyphens")
    try:
        ipaddress.ip_address(address)
    except ValueError:
        hint = "give an address of the host, such as 127.0.0.1 or 0.0.0.0"
        raise UsageError(f"--address cannot be {address!r}", hint) from None
    if strange := [one for one in secrets if not _VARIABLE.fullmatch(one)]:
        hint = "give the variable's name alone, such as VLLM_API_KEY"
        raise UsageError(f"--secret cannot be {strange[0].partition('=')[0]!r}", hint)
    return services.Options(name, tuple(map(int, indexes)), port, address, secrets=secrets)


def run(
    recipe: "Recipe",
    chosen: services.Options,
    inventory: str | None,
    pattern: str,
    *,
    output: str | None,
    form: str,
    color: str,
    quiet: bool,
) -> int:
    """Plan and write; return the exit status."""
    made, errors, interrupted = _planned(recipe, chosen, inventory, pattern, quiet=quiet)
    from qops.render import artefacts, screen
    from qops.render import services as rendered

    if output:
        return _artefact(artefacts.ARTEFACTS[output], made, errors)
    if form == "json":
        sys.stdout.write(rendered.document(made, errors))
    else:
        screen.write(list(rendered.text(made, errors)), color=color)
    if interrupted:
        return INTERRUPTED
    if errors:
        return UNREACHABLE
    if any(one.refused for one in made.values()):
        return FAULT
    return INCOMPLETE if any(one.unseen for one in made.values()) else HEALTHY


def _artefact(make: Callable[[ServicePlan], str], made: Mapping[str, ServicePlan], errors: Mapping[str, str]) -> int:
    """Write one artefact of one host, for a file or a pipe."""
    if errors or len(made) != 1:
        why = "; ".join(f"{host}: {error}" for host, error in errors.items()) or f"{len(made)} hosts match"
        raise UsageError(f"--output takes one host, and {why}", "name one host")
    (one,) = made.values()
    if one.refused or one.unseen:
        raise UsageError("; ".join((*one.refused, *one.unseen)), "without --output the plan says more")
    sys.stdout.write(make(one))
    return HEALTHY


def _planned(
    recipe: "Recipe", chosen: services.Options, inventory: str | None, pattern: str, *, quiet: bool
) -> tuple[dict[str, ServicePlan], dict[str, str], bool]:
    from dataclasses import replace

    from qops import probes
    from qops.cli import each
    from qops.derive.hardware_class import hardware_class
    from qops.evidence.gpu import Gpus
    from qops.evidence.pcie import PcieTree

    known = [probe.once() for probe in probes.ALL if probe.makes in services.KINDS]

    def plan(seen: Mapping[type, Any], variables: Mapping[str, Any]) -> ServicePlan:
        said = str(variables.get("qops_hardware_class") or "")
        hardware = hardware_class(seen.get(Gpus), seen.get(PcieTree), said=said)
        root = str(variables.get("model_store_root") or services.ROOT)
        return services.make(recipe, seen, hardware, replace(chosen, root=root))

    return each.make(known, plan, inventory, pattern, also=("qops_hardware_class", "model_store_root"), quiet=quiet)


def library(folders: Sequence[str], inventory: str | None) -> "dict[str, Recipe]":
    """Return all recipes: qops's own, those beside the inventory, and those of `--recipes`."""
    from qops import recipes

    return recipes.load([*(recipes.beside(inventory) if inventory else ()), *map(Path, folders)])
