"""`qops plan`: what would be set on a host, or serve a recipe on it, and why; without Ansible, and changing nothing."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from qops.cli import options
from qops.errors import HEALTHY, INCOMPLETE, INTERRUPTED, UNREACHABLE, UsageError

if TYPE_CHECKING:
    from qops.plans.base import Planned, RolePlan

EXAMPLES = """
\b
Examples:
  qops plan                              this host, with the roles' defaults
  qops plan -i inventory                 every host of an inventory, with its variables
  qops plan spark-1 -i lab.yml --role gpu_power,host_tuning
  qops plan --format json | jq '.hosts[].roles[] | select(.differs) | .role'
  qops plan --recipe qwen3.6-35b-gdn4lm4-spark-vllm    what would serve it on this host, or why it does not run here
  qops plan -i inventory spark-1 my-recipe --recipes recipes
  qops plan -i inventory spark-1 my-recipe --output compose > compose.yaml
"""


@click.command(epilog=EXAMPLES)
@click.argument("pattern", metavar="[HOST]", default="")
@click.argument("named", metavar="[RECIPE]", default="")
@click.option("-i", "--inventory", metavar="FILE", help="Ask hosts of this Ansible inventory by SSH.")
@options.become
@click.option("--role", "roles", multiple=True, callback=options.split, metavar="ROLES", help="Only these roles.")
@click.option("--recipe", metavar="NAME", help="Plan the service of this recipe.")
@click.option("--recipes", "folders", multiple=True, metavar="DIR", help="A folder of your own recipes. Repeatable.")
@click.option(
    "--output",
    type=click.Choice(["unit", "env", "compose", "run", "instance"]),
    help="Only this, of a recipe's plan; `instance` is for the role inference_service.",
)
@click.option("--name", default="", metavar="NAME", help="Name of the service; the recipe's by default.")
@click.option("--gpus", default="", metavar="INDEXES", help="GPUs that serve, such as 4,5,6,7.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), metavar="PORT", help="Instead of the recipe's.")
@click.option("--address", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where the port is open.")
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="VARIABLE",
    help="Name of a variable, such as VLLM_API_KEY, whose value is in /etc/qops/serve/NAME.secret. Repeatable.",
)
@options.form("text", "json")
@options.color
@click.option("-q", "--quiet", is_flag=True, help="No line of progress.")
def plan(
    pattern: str,
    named: str,
    inventory: str | None,
    roles: tuple[str, ...],
    recipe: str | None,
    folders: tuple[str, ...],
    output: str | None,
    name: str,
    gpus: str,
    port: int,
    address: str,
    secrets: tuple[str, ...],
    form: str,
    color: str,
    quiet: bool,
) -> int:
    """Say what the roles would set on HOST (a name or pattern of the inventory; without one, this host), and why.

    With RECIPE: what would serve it there, every reason with its evidence, or why it does not run there.

    It only reads. Exit status 0: a plan was made; 1: the recipe does not run there; 3: something that a plan needs
    could not be seen; 4: unreachable.
    """
    if pattern and inventory is None:
        hint = "add -i INVENTORY; `qops plan` and `qops plan --recipe NAME` are this host"
        raise UsageError(f"{pattern!r} is a host of which inventory?", hint)
    if named and recipe:
        raise UsageError(f"two recipes are named, {named} and {recipe}", "name one")
    if named or recipe:
        from qops.cli import serving
        from qops.recipes import one

        if roles:
            raise UsageError("--role plans roles, and a recipe is named", "leave one of them out")
        chosen_service = serving.choices(name, gpus, port, address, secrets)
        made_of = one(serving.library(folders, inventory), named or recipe or "")
        return serving.run(
            made_of, chosen_service, inventory, pattern, output=output, form=form, color=color, quiet=quiet
        )
    if output or folders:
        raise UsageError("--output and --recipes belong to a recipe's plan", "add --recipe NAME")
    from qops import plans

    unknown = sorted(set(roles) - set(plans.BY_ROLE))
    if unknown:
        raise UsageError(f"no role is called {unknown[0]!r}", f"there are {', '.join(plans.BY_ROLE)}")
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
    from qops import probes
    from qops.cli import each
    from qops.plans import making

    kinds = {kind for made in chosen for kind in making.kinds(made)}
    known = [probe.once() for probe in probes.ALL if probe.makes in kinds]
    names = [name for made in chosen for name in making.variables(made)]

    def plans_of(seen: Mapping[type, Any], variables: Mapping[str, Any]) -> "tuple[Planned, ...]":
        return tuple(making.of_host(made, seen, variables) for made in chosen)

    return each.make(known, plans_of, inventory, pattern, also=names, quiet=quiet)
