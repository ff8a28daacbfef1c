"""`qops inventory`: the mistakes in an inventory, without Ansible."""

import json
from typing import TYPE_CHECKING

import click

from qops.cli import options, output
from qops.errors import FAULT, HEALTHY, UsageError

if TYPE_CHECKING:
    from qops.inventory.mistakes import Mistake
    from qops.render.sarif import Result

EXAMPLES = """
\b
Examples:
  qops inventory inventory                        a folder with hosts.yml and group_vars
  qops inventory hosts.ini -l spark               only what touches these hosts or groups
  qops inventory inventory --format sarif -o inventory.sarif
  qops inventory inventory --format json | jq -r '.mistakes[].message'
"""


@click.command(epilog=EXAMPLES)
@click.argument("sources", metavar="INVENTORY...", nargs=-1, required=True, type=click.Path(exists=True))
@click.option("-l", "--limit", "limit", multiple=True, callback=options.split, help="Only these hosts and groups.")
@click.option("--roles", default="roles", show_default=True, type=click.Path(), help="The folder with the roles.")
@options.form("text", "json", "sarif")
@output.option
def inventory(sources: tuple[str, ...], limit: tuple[str, ...], roles: str, form: str, output: str | None) -> int:
    """Find mistakes in an INVENTORY: misspelt variables, values of the wrong type, secrets in plain text.

    It reads files alone, and shows no value. Exit status 0: no mistake that stops a run; 1: one or more.
    """
    from pathlib import Path

    from qops import suppression
    from qops.cli.output import write
    from qops.inventory import check, declared, mistakes, specs
    from qops.render import sarif

    known = specs.read(Path(roles))
    if not known.roles:
        raise UsageError(
            f"there are no roles in {roles}", "add --roles FOLDER; the repository of qops has them in roles/"
        )
    said = declared.read(sources)
    groups = said.groups()
    hosts = groups["all"]
    if strange := [name for name in limit if name not in groups and name not in hosts]:
        raise UsageError(f"there is neither a host nor a group {strange[0]!r}", f"groups: {', '.join(sorted(groups))}")
    chosen = {host for name in limit for host in groups.get(name, (name,))} if limit else hosts
    wrong = (
        mistakes.Mistake(f"{one.name}: entry {place + 1}: {message}", one.where)
        for one in said.variables
        if one.name == suppression.VARIABLE
        for place, message in suppression.mistakes(one.value)
    )
    found = (*wrong, *check.check(said, known, groups, chosen))
    grave = sum(one.grave for one in found)
    if form == "json":
        rows = [{"where": one.where, "message": one.message, "grave": one.grave} for one in found]
        write(json.dumps({"schema": 1, "mistakes": rows}, indent=2, ensure_ascii=False) + "\n", output)
    elif form == "sarif":
        write(sarif.log([_result(one) for one in found]), output)
    else:
        told = [f"{'error' if one.grave else 'note'}: {one}\n" for one in found]
        write("".join(told) or f"no mistake in {', '.join(sources)}\n", output)
    return FAULT if grave else HEALTHY


def _result(one: "Mistake") -> "Result":
    from qops.render.sarif import Result

    file, colon, line = one.where.rpartition(":")
    named = (file, int(line)) if colon and line.isdigit() else (one.where, 0)
    level = "error" if one.grave else "note"
    return Result("inventory", level, one.message, *named, about="a mistake in the variables of an inventory")
