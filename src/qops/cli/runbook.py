"""`qops runbook`: list the pages, show one with this host's values, or follow it and keep a record."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qops.cli import options
from qops.errors import FAULT, HEALTHY, INCOMPLETE, INTERRUPTED, UsageError

if TYPE_CHECKING:
    from qops.runbook.incident import Done
    from qops.runbook.page import Step

EXAMPLES = """
\b
Examples:
  qops runbook list hang                      where to begin: symptoms, causes and planned work with that word
  qops runbook show hangs-at-start            an entry page
  qops runbook show NCL001 --set pid=4711     a cause, with values in its commands
  qops runbook show NCL001 --from host.tar.gz the values that a diagnosis of that evidence names
  qops runbook run NCL018                     follow it on this host; asks before anything that changes something
  qops runbook run HST061 -i lab.yml -l gpu-1 on another host, by SSH

\b
Exit status of run: 0 all was run, and the finding is not there; 1 it is; 3 it cannot be told, or something was not
run; 130 interrupted (with -o and the same folder it goes on).
"""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from qops.runbook import library

    return [name for name in library.names() if name.lower().startswith(incomplete.lower())]


def _values(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    found = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name.isidentifier():
            raise UsageError(f"--set {one}: not NAME=VALUE", "such as --set pid=4711 --set gpu=3")
        if any(ord(c) < 32 for c in value):
            raise UsageError(f"--set {name}: the value holds a control character", "give it on one line")
        found[name.upper()] = value
    return found


_set = click.option(
    "--set", "given", multiple=True, callback=_values, metavar="NAME=VALUE", help="A value. Repeatable."
)
_from = click.option("--from", "paths", multiple=True, metavar="PATH", help="Values from a bundle or log. Repeatable.")


@click.group(
    help="Follow a runbook: for a finding, for what one sees, or for planned work." + "\n" + EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def runbook() -> None:
    """Root of the commands on runbooks; its help text is in the decorator."""


@runbook.command("list")
@click.argument("words", nargs=-1)
@options.form("text", "json")
def list_(words: tuple[str, ...], form: str) -> None:
    """List the pages whose name or title has all WORDS."""
    from qops.render import screen
    from qops.rules import ALL
    from qops.runbook import library

    rows = [
        {"kind": kind, "name": page.name, "code": "", "title": page.title}
        for kind in library.KINDS
        for page in library.of_kind(kind)
    ]
    rows += [{"kind": r.family, "name": r.cause, "code": r.code, "title": r.summary} for r in ALL]
    kept = [row for row in rows if all(word.lower() in " ".join(row.values()).lower() for word in words)]
    if form == "json":
        click.echo(json.dumps({"schema": 1, "runbooks": kept}, indent=2))
        return
    if not kept:
        raise UsageError(f"no runbook has all of: {' '.join(words)}", "fewer words; `qops runbook list` has all")
    out: list[screen.Line] = []
    kinds = list(dict.fromkeys(row["kind"] for row in kept))
    for kind in kinds:
        out += [[]] if out else []
        out.append([(kind, "bold")])
        for row in (row for row in kept if row["kind"] == kind):
            out.append([(f"  {row['code'] + ' ' if row['code'] else ''}{row['name']}  ", "cyan"), (row["title"], "")])
    screen.write(out)


@runbook.command(epilog="Example: qops runbook show NCL001 --set pid=4711")
@click.argument("page", shell_complete=_complete)
@_set
@_from
@options.color
def show(page: str, given: dict[str, str], paths: tuple[str, ...], color: str) -> None:
    """Show PAGE (a code, a cause, or the name of another page), with values in its commands."""
    from qops.render import screen
    from qops.runbook import filling, library

    found, rule = library.find(page)
    known = {**(_diagnosed(paths, rule.cause) if rule and paths else {}), **given}
    text = "".join(line for line in found.text.splitlines(True) if not line.startswith("<!-- generated"))
    screen.markdown(filling.fill_page(text, known), color=color)


@runbook.command(epilog="Example: qops runbook run HST061 -i lab.yml -l gpu-1 -o incidents/swap")
@click.argument("page", shell_complete=_complete)
@options.fleet
@_set
@_from
@click.option("-o", "--output", metavar="DIR", help="The incident's folder; the same one goes on. [default: a new one]")
@click.option("--read-only", is_flag=True, help="Ask nothing, and change nothing.")
@click.option(
    "--yes", is_flag=True, help="Run the steps that change something without asking, but for those under Undo."
)
@click.option("-q", "--quiet", is_flag=True, help="Only the outcome.")
def run(
    page: str,
    inventory: str | None,
    limit: str | None,
    given: dict[str, str],
    paths: tuple[str, ...],
    output: str | None,
    read_only: bool,
    yes: bool,
    quiet: bool,
) -> int:
    """Follow PAGE on this host, or on one of an inventory, and record what was run and what it answered.

    Steps that read are run. Before each that changes something it asks; where nobody can answer, nothing is changed.
    The folder is a bundle: `qops diagnose --from DIR`. Its timeline.md is for the post-mortem.
    """
    from qops.cli import following
    from qops.runbook import library
    from qops.runbook.page import UNDO
    from qops.runbook.walking import InterruptedWalkError, walk

    if read_only and yes:
        raise UsageError("--read-only and --yes exclude each other", "leave one of them out")
    found, rule = library.find(page)
    if not found.steps:
        raise UsageError(f"{page} has no commands to run", f"read it: qops runbook show {page}")
    where = following.where(options.hosts(inventory, limit), inventory)
    known = {"HOST": where.host.name} | ({"INVENTORY": inventory} if inventory else {})
    values = {**known, **(_diagnosed(paths, rule.cause) if rule and paths else {}), **given}
    name = rule.code if rule else found.name
    incident, resumed = following.incident(output, name, where.host.name, values)
    if resumed:
        following.say_where_it_stands(incident)

    def ask(number: int, script: str) -> str:
        if read_only:
            return "nothing was to be changed"
        if yes and found.steps[number - 1].heading == UNDO:
            return "--yes does the work, and does not undo it"
        return "" if yes else following.ask(number, script)

    def say(number: int, step: "Step", script: str, done: "Done | None") -> None:
        if not quiet:
            following.say(number, len(found.steps), step, script, done, incident.folder)

    try:
        ended = walk(found, where, incident, ask, say)
    except InterruptedWalkError:
        click.echo(f"interrupted; it goes on with: -o {incident.folder}", err=True)
        return INTERRUPTED
    finally:
        where.host.stop()
    click.echo(f"incident: {incident.folder}")
    click.echo(f"timeline: {incident.folder / 'timeline.md'}")
    if rule:
        verdict = following.verdict(rule, ended[-1], incident.folder)
        click.echo(f"{rule.cause}: {verdict}")
        if verdict is not following.Verdict.GONE:
            return FAULT if verdict is following.Verdict.FOUND else INCOMPLETE
    open_ = [one for one in ended if one.state != "done" and not (yes and one.heading == UNDO)]
    return INCOMPLETE if open_ else HEALTHY


def _diagnosed(paths: Sequence[str], cause: str) -> dict[str, str]:
    """Return the values that the finding `cause` in the evidence `paths` names, and its host."""
    from qops.engine import judge, observe
    from qops.recording import recorded
    from qops.rules import LISTED
    from qops.runbook import filling

    for one in recorded([str(Path(path)) if path != "-" else path for path in paths]):
        report = judge(one.host or "evidence", one.collected_at, observe(one.texts, one.gaps), LISTED)
        for finding in report.findings:
            if finding.cause == cause:
                return {**({"HOST": one.host} if one.host else {}), **filling.values(finding)}
    sys.stderr.write(f"{cause} is not found in {', '.join(paths)}: the commands keep their placeholders\n")
    return {}
