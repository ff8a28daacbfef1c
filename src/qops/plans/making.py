"""Making the plan of a role for a host."""

from collections.abc import Mapping
from typing import Any

from qops.derive.hardware_class import HardwareClass, hardware_class
from qops.evidence.gpu import Gpus
from qops.evidence.pcie import PcieTree
from qops.inventory.host import is_true
from qops.plans.base import Plan, Planned, RolePlan, Seen

CLASS = "qops_hardware_class"  # the variable in which an inventory says it


def kinds(made: RolePlan) -> frozenset[type]:
    """Return the evidence that a plan is made from."""
    return frozenset({*made.kinds, Gpus, PcieTree} if made.needs_class else made.kinds)


def variables(made: RolePlan) -> tuple[str, ...]:
    """Return the inventory's variables from which a plan is made, by full name."""
    return (CLASS, *(f"{made.role}_{name}" for name in made.defaults), *made.also)


def of_host(made: RolePlan, seen: Seen, inventory: Mapping[str, Any]) -> Planned:
    """Make a role's plan for a host from the inventory's variables by full name; others of them do not count.

    UsageError for a variable that cannot be.
    """
    own = {name: inventory[full] for name in made.defaults if (full := f"{made.role}_{name}") in inventory}
    also = {name: inventory[name] for name in made.also if name in inventory}
    return plan(made, seen, own | also, str(inventory.get(CLASS) or ""))


def plan(made: RolePlan, seen: Seen, variables: Mapping[str, Any], said: str = "") -> Planned:
    """Make a role's plan for a host.

    `variables` are the role's, without its name; `said` is the hardware class that the inventory names. UsageError
    for a variable that cannot be.
    """
    hardware = hardware_class(seen.get(Gpus), seen.get(PcieTree), said=said)
    options = {**made.defaults, **made.also, **variables}
    manage = is_true(options.get("manage", True))
    if made.needs_class and hardware.value is HardwareClass.UNKNOWN:
        wrong = (f"{hardware.because}. Set qops_hardware_class for this host if you know better",) if manage else ()
        return Planned(made.role, hardware, manage, Plan(), wrong)
    result = made.make(seen, hardware, options)
    unseen = (f"could not be read: {', '.join(result.unseen)}",) if result.unseen else ()
    return Planned(made.role, hardware, manage, result, (*result.refused, *unseen) if manage else result.unsafe)
