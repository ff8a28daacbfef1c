"""`qops diff`: what changed between two bundles, or two hosts, that matters for serving."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qops.cli import options
from qops.errors import EvidenceError, UsageError

if TYPE_CHECKING:
    from qops.transports.answer import Collection

_PID = r"pid \d+,? ?"  # of another run by nature
EXAMPLES = """
\b
Examples:
  qops diff before.tar.gz after.tar.gz             a host before and after an update
  qops diff good.tar.gz bad.tar.gz --format json
  qops diff -i hosts.yml spark-1 spark-2           two hosts, asked now by SSH
  qops diff -i hosts.yml last-week.tar.gz spark-1  a host and what was recorded of it

\b
Exit status: 0 nothing changed, 1 something did, 2 usage, 3 too little was seen to say, 4 unreachable.
"""


@click.command(epilog=EXAMPLES)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("-i", "--inventory", metavar="FILE", help="A and B may be hosts of this inventory, asked by SSH.")
@options.become
@options.form("text", "json")
@options.color
@click.option("-q", "--quiet", is_flag=True, help="No line of progress.")
def diff(before: str, after: str, inventory: str | None, form: str, color: str, quiet: bool) -> int:
    """Say what changed from A to B that matters for serving, what can stop it first.

    A and B are bundles, folders of loose files, or hosts of an inventory. What changes by itself is left out:
    temperatures, clocks, memory in use, pids, counters, times. New faults are changes too.
    """
    from qops.derive.changes import changes
    from qops.errors import FAULT, HEALTHY, INCOMPLETE
    from qops.render import changes as rendered

    old, new = _read(before, inventory, quiet=quiet), _read(after, inventory, quiet=quiet)
    found = changes(_observed(old), _observed(new))
    names = (old.host or before, new.host or after)
    if names[0] == names[1]:
        names = (before, after)
    if form == "json":
        sys.stdout.write(rendered.document(found, names, (old.collected_at, new.collected_at)))
    else:
        from qops.render import screen

        screen.write(rendered.text(found, names, (old.collected_at, new.collected_at)), color=color)
    if found.found:
        return FAULT
    return HEALTHY if found.compared else INCOMPLETE


def _observed(collection: "Collection") -> dict[type, Any]:
    """Parse a collection, and note which faults its rules find: a new fault is a change as well."""
    from qops.derive.aspects.faults import Faults
    from qops.engine import judge, observe
    from qops.evidence.message import Logs
    from qops.rules import LISTED

    seen = observe(collection.texts, collection.gaps)
    report = judge(collection.host, collection.collected_at, seen, LISTED)
    serious = [finding for finding in report.findings if finding.severity != "info"]
    if set(report.coverage.seen) - {"Logs"} or (
        Logs in seen and seen[Logs].hits
    ):  # what shows nothing is not called free of faults
        seen[Faults] = Faults(tuple(f"{one.cause} ({re.sub(_PID, '', one.subject)})" for one in serious))
    return seen


def _read(name: str, inventory: str | None, *, quiet: bool) -> "Collection":
    """Read one side. UsageError when it is neither a path nor a host; TransportError when it cannot be reached."""
    if Path(name).exists():
        from qops.recording import recorded

        found = recorded([name])
        if len(found) != 1:
            raise EvidenceError(f"{name} holds {len(found)} hosts", "name the bundle of one host")
        return found[0]
    if inventory is None:
        raise UsageError(f"there is no bundle {name}", "give a path, or -i INVENTORY for hosts")
    return _asked(name, inventory, quiet=quiet)


def _asked(name: str, inventory: str, *, quiet: bool) -> "Collection":
    from qops import probes
    from qops.cli import fleet
    from qops.errors import TransportError

    hosts = options.hosts(inventory, name)
    if len(hosts) != 1:
        raise UsageError(f"{name} names {len(hosts)} hosts", "compare one with one")
    known = [probe.once() for probe in probes.ALL]
    (one,), interrupted = fleet.look(
        hosts, known, lambda found, lost, written: (found, lost), what=f"looking at {name}", seconds=20.0, quiet=quiet
    )
    if interrupted:
        raise KeyboardInterrupt
    if one.error is not None:
        raise one.error
    if one.result is None or one.result[1]:
        raise TransportError(f"{name}: {one.result[1] if one.result else 'it did not answer'}", "try again")
    return one.result[0]
