"""What `qops runbook run` asks, says and keeps while it follows a page."""

import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import click

from qops.errors import UsageError
from qops.inventory import Host
from qops.rule import Rule
from qops.runbook import incident as incidents
from qops.runbook.incident import Done, Incident
from qops.runbook.page import Step
from qops.runbook.walking import Where
from qops.transports.base import lines
from qops.transports.local import Local

SHOWN = 20  # lines of an answer; the rest stands in the folder


class Verdict(StrEnum):
    """What the last step of a walk says of the finding."""

    FOUND = "it is there"
    GONE = "it is not there"
    UNKNOWN = "it cannot be told whether it is there"


def where(hosts: Sequence[Host], inventory: str | None) -> Where:
    """Return the machines of the walk: this one, or the single host of `hosts`; raises UsageError for more."""
    here = Local()
    if not hosts:
        return Where(here, here)
    if len(hosts) > 1:
        raise UsageError(f"a runbook is followed on one host, and {len(hosts)} are named", "name it with -l HOST")
    from qops.transports.ssh import Ssh  # brings fabric, which this host does without

    reached = Ssh(hosts[0])
    reached.open()
    return Where(reached, here, inventory or "", reached.renew)


def incident(output: str | None, page: str, host: str, values: Mapping[str, str]) -> tuple[Incident, bool]:
    """Return the incident in `output`, or a new one, and whether it had been begun before."""
    if output is None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        return incidents.start(Path(f"incident-{page.lower()}-{stamp}"), page, host, values), False
    folder = Path(output)
    if folder.exists():
        return incidents.resume(folder, page, host), True
    return incidents.start(folder, page, host, values), False


def say_where_it_stands(resumed: Incident) -> None:
    """Say what was done before, and which change was cut short."""
    done = [one for one in resumed.steps if one.state == "done"]
    click.echo(f"going on in {resumed.folder}: {len(done)} steps were run", err=True)
    for one in resumed.steps:
        cut = one.state in ("running", "interrupted") and one is resumed.last(one.number)
        if cut and one.changes:
            click.echo(
                f"step {one.number} changes something and was cut short at {one.begun}: it may have taken effect, or "
                "half of it. The steps under Verification say which; it is asked about again",
                err=True,
            )
        elif cut:
            click.echo(f"step {one.number} only reads, and is run again", err=True)


def ask(number: int, script: str) -> str:
    """Show the commands of a step that changes something and ask; return "", or why it is not run."""
    click.echo(f"step {number} changes something:\n{_indented(script)}", err=True)
    if not sys.stdin.isatty():
        return "it changes something, and nobody could be asked (--yes runs it)"
    return "" if click.confirm("run it?", default=False, err=True) else "refused"


def say(number: int, total: int, step: Step, script: str, done: Done | None, folder: Path) -> None:
    """Say which step comes, or what it answered."""
    if done is None:
        click.echo(f"[{number}/{total}] {step.heading}\n{_indented(script)}", err=True)
        return
    if done.state == "running":
        why = "it still runs since the walk that was killed; waiting for its end"
        click.echo(f"[{number}/{total}] {step.heading}: {why}", err=True)
        return
    if done.state == "left out":
        click.echo(f"[{number}/{total}] {step.heading}: not run: {done.note}", err=True)
        return
    said = [line for name in (done.file, done.stderr) if name for line in lines((folder / name).read_bytes())]
    for line in said[:SHOWN]:
        click.echo(f"    {line}")
    if len(said) > SHOWN:
        click.echo(f"    … {len(said) - SHOWN} more lines: {folder / (done.file or done.stderr)}", err=True)
    click.echo(f"  {done.failure or f'status {done.status}'}, {done.seconds:g} s", err=True)


def verdict(rule: Rule, last: Done, folder: Path) -> Verdict:
    """Return what `last`, a diagnosis by `rule` alone, says; not looked, or without the evidence, is not gone."""
    if last.state != "done" or not last.file:
        return Verdict.UNKNOWN
    said = "\n".join(lines((folder / last.file).read_bytes()))
    if re.search(rf"\b{rule.code} {rule.cause}\b", said):
        return Verdict.FOUND
    judged = re.search(r"^coverage +(\d+) of (\d+) rules had", said, re.M)
    return Verdict.GONE if judged and judged[1] == judged[2] else Verdict.UNKNOWN


def _indented(script: str) -> str:
    return "\n".join(f"    {line}" for line in script.splitlines())
