"""`qops plan`: what the roles would set on a host, and why; without Ansible, and changing nothing."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from qops.cli import options
from qops.errors import HEALTHY, INCOMPLETE, INTERRUPTED, UNREACHABLE, TransportError, UsageError

if TYPE_CHECKING:
    from qops.plans.base import Planned, RolePlan

EXAMPLES = """
\b
Examples:
  qops plan                              this host, with the roles' defaults
  qops plan -i inventory                 every host of an inventory, with its variables
  qops plan spark-1 -i lab.yml --role gpu_power,host_tuning
  qops plan --format json | jq '.hosts[].roles[] | select(.differs) | .role'
"""


@click.command(epilog=EXAMPLES)
@click.argument("pattern", metavar="[HOST]", default="")
@click.option("-i", "--inventory", metavar="FILE", help="Ask hosts of this Ansible inventory by SSH.")
@click.option("--role", "roles", multiple=True, callback=options.split, metavar="ROLES", help="Only these roles.")
@options.form("text", "json")
@options.color
@click.option("-q", "--quiet", is_flag=True, help="No line of progress.")
def plan(pattern: str, inventory: str | None, roles: tuple[str, ...], form: str, color: str, quiet: bool) -> int:
    """Say what the roles would set on HOST (a name or pattern of the inventory; without one, this host), and why.

    It only reads. Exit status 0: a plan was made; 3: something that a plan needs could not be seen; 4: unreachable.
    """
    from qops import plans

    unknown = sorted(set(roles) - set(plans.BY_ROLE))
    if unknown:
        raise UsageError(f"no role is called {unknown[0]!r}", f"there are {', '.join(plans.BY_ROLE)}")
    if pattern and inventory is None:
        raise UsageError(f"{pattern!r} is a host of which inventory?", "add -i INVENTORY; `qops plan` is this host")
    chosen = [made for made in plans.ALL if not roles or made.role in roles]
    made, errors, interrupted = _planned(chosen, inventory, pattern, quiet=quiet)
    from qops.render import plans as rendered

    if form == "json":
        sys.stdout.write(rendered.document(made, errors))
    else:
        from qops.render import screen

        screen.write(list(rendered.text(made, errors)), color=color)
    if interrupted:
        return INTERRUPTED
    if errors:
        return UNREACHABLE
    return INCOMPLETE if any(role.plan.unseen for roles in made.values() for role in roles) else HEALTHY


def _planned(
    chosen: "Sequence[RolePlan]", inventory: str | None, pattern: str, *, quiet: bool
) -> "tuple[dict[str, tuple[Planned, ...]], dict[str, str], bool]":
    """Return the plans of each host, why there are none of the others, and whether Ctrl-C ended it."""
    from qops import inventory as inventories
    from qops import probes
    from qops.cli import fleet
    from qops.cli.looking import look
    from qops.engine import observe
    from qops.plans import making
    from qops.transports.answer import Collection

    kinds = {kind for made in chosen for kind in making.kinds(made)}
    known = [probe.once() for probe in probes.ALL if probe.makes in kinds]

    def plans_of(found: Collection, variables: Mapping[str, Any]) -> "tuple[Planned, ...]":
        seen = observe(found.texts, found.gaps, known)
        said = str(variables.get("qops_hardware_class") or "")
        return tuple(
            making.plan(
                made,
                seen,
                {n: variables[f"{made.role}_{n}"] for n in made.defaults if f"{made.role}_{n}" in variables},
                said,
            )
            for made in chosen
        )

    if inventory is None:
        found = look(known, what="looking at this host", seconds=options.SECONDS, quiet=quiet)
        return {found.host: plans_of(found, {})}, {}, found.interrupted
    names = ["qops_hardware_class", *(f"{made.role}_{name}" for made in chosen for name in made.defaults)]
    hosts = {host.name: host for host in inventories.hosts(inventory, pattern or "all", also=names)}

    def make(found: Collection, lost: str, written: str) -> "tuple[Planned, ...]":
        if lost:
            raise TransportError(lost, "try again")
        return plans_of(found, hosts[found.host].variables)

    looked, interrupted = fleet.look(
        list(hosts.values()), known, make, what=f"looking at {len(hosts)} hosts", seconds=options.SECONDS, quiet=quiet
    )
    made = {one.host.name: one.result for one in looked if one.result is not None}
    errors = {one.host.name: f"{one.error.message}; try: {one.error.hint}" for one in looked if one.error}
    return made, errors, interrupted
