"""`qops fix`: from a finding to the role that mends it, as a change of the inventory and a command of Ansible."""

import json
from typing import TYPE_CHECKING

import click

from qops.cli import options
from qops.errors import FAULT, HEALTHY, INCOMPLETE, INTERRUPTED, UsageError

if TYPE_CHECKING:
    from qops.rule import Fix, Rule

EXAMPLES = """
\b
Examples:
  qops fix gpu-1 swappiness-too-high -i inventory              what would be done, and nothing is
  qops fix gpu-1 HST061 -i inventory --apply                   see it, say yes, and have it judged
  qops fix gpu-1 power-cap-below-need -i lab.yml               proposes the board's default, and says why
  qops fix gpu-1 power-cap-below-need -i lab.yml --set 450 --apply --yes

\b
Exit status: 0 mended, or shown what would mend it; 1 not mended, and taken back; 2 no role mends it;
3 it takes a reboot, or could not be judged; 4 unreachable; 130 interrupted (the next call says what was left).
"""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from qops.rules import ALL

    names = [name for rule in ALL if any(fix.tag for fix in rule.fix) for name in (rule.code, rule.cause)]
    return [name for name in names if name.lower().startswith(incomplete.lower())]


@click.command(epilog=EXAMPLES)
@click.argument("host")
@click.argument("cause", shell_complete=_complete)
@click.option("-i", "--inventory", metavar="FILE", default="inventory", show_default=True, help="Ansible's inventory.")
@click.option(
    "--set",
    "value",
    metavar="VALUE",
    help="The value for the finding's variable on HOST, where what the host's evidence tells is not meant.",
)
@click.option("--apply", is_flag=True, help="Show the plan, ask, do it, and judge the host again.")
@click.option("--yes", is_flag=True, help="With --apply: do not ask.")
@options.color
@click.option("-q", "--quiet", is_flag=True, help="No line of progress.")
def fix(
    host: str, cause: str, inventory: str, value: str | None, apply: bool, yes: bool, color: str, quiet: bool
) -> int:
    """Say how the finding CAUSE is mended on HOST by a role; with --apply, do it.

    It runs ansible-playbook and no other command, in the folder of site.yml. If the finding is still there afterwards,
    or a new one is, the inventory is put back and the role run again. A call that was killed is found by the next one.
    """
    from qops.cli import fix_apply, fix_change, fix_value
    from qops.render import screen

    if yes and not apply:
        raise UsageError("--yes answers what --apply asks", "add --apply, or leave it out")
    rule, chosen = _chosen(cause)
    if value is not None and not chosen.variable:
        raise UsageError(f"{rule.cause} has no variable to set", "leave out --set")
    run = fix_apply.Run(host, inventory, chosen)
    if left := fix_change.left_over(host):
        click.echo(fix_change.told(left), err=True)
    elif value is None and (found := fix_value.proposed(rule, chosen, inventory, host, quiet=quiet)):
        value = json.dumps(found.value)  # a word, also where YAML has a meaning for it, such as off
        click.echo(f"{chosen.variable}: {found.value}, since {found.because}; another one: --set VALUE", err=True)
        for one in found.settings:
            click.echo(f"  {one}", err=True)
    change = fix_change.plan(inventory, host, chosen.variable, value)
    screen.write([[(line, fix_change.style(line))] for line in change.diff()], color=color)
    click.echo(" ".join(run.shown(check=True)))
    if chosen.needs_reboot:
        click.echo("it takes effect with a reboot, which is not done here: see playbooks/reboot.yml", err=True)
    if not apply:
        return HEALTHY
    try:
        with fix_change.alone(host):
            outcome = fix_apply.apply(rule, run, change, ask=not yes, quiet=quiet)
    except KeyboardInterrupt:
        click.echo("interrupted; the next call for this host says what was left", err=True)
        return INTERRUPTED
    click.echo(f"{host}: {rule.cause}: {outcome.text}")
    return {fix_apply.Kind.MENDED: HEALTHY, fix_apply.Kind.TAKEN_BACK: FAULT}.get(outcome.kind, INCOMPLETE)


def _chosen(cause: str) -> "tuple[Rule, Fix]":
    """Return the rule, and the first of its fixes that a role does; UsageError when there is none."""
    from qops.rules import ALL

    rule = next((r for r in ALL if cause.lower() in (r.code.lower(), r.cause)), None)
    if rule is None:
        raise UsageError(f"there is no finding {cause!r}", "`qops rules` lists them")
    chosen = next((one for one in rule.fix if one.tag), None)
    if chosen is None:
        raise UsageError(f"no role mends {rule.cause}", f"follow its runbook: qops runbook run {rule.code}")
    return rule, chosen
