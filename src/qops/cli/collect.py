"""`qops collect`: the evidence of this host, or of others, as redacted bundles."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qops.cli import options
from qops.errors import HEALTHY, INTERRUPTED, UNREACHABLE, BundleError, UsageError

if TYPE_CHECKING:
    from qops.inventory import Host
    from qops.probes.base import Probe

EXAMPLES = """
\b
Examples:
  sudo qops collect -o $(hostname).tar.gz    this host; then: qops diagnose --from FILE
  qops collect -i hosts.yml -l spark -o out/ a bundle for each host in out/
"""


@click.command(epilog=EXAMPLES)
@click.argument("family", type=click.Choice([*options.FAMILIES, "all"]), default="all")
@options.fleet
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="The bundle to write (tar.gz); with several hosts, a folder for one bundle each.",
)
@click.option(
    "--seconds", type=click.FloatRange(1, 600), default=options.SECONDS, show_default=True, help="Time to look."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when it went well.")
def collect(family: str, inventory: str | None, limit: str | None, output: str, seconds: float, quiet: bool) -> int:
    """Record the evidence of this host or of others to bundles, with tokens, keys and passwords removed.

    A bundle holds what each command answered. Look at it before you pass it on: `tar tzf FILE`.
    """
    from qops import probes
    from qops.cli.looking import look

    known = [p for p in probes.ALL if (p.families if family == "all" else family in p.families)]
    if hosts := options.hosts(inventory, limit):
        return _others(hosts, known, output, seconds=seconds, quiet=quiet)
    if Path(output).is_dir():
        raise UsageError(f"{output} is a folder", f"name a file: -o {Path(output, 'host.tar.gz')}")
    found = look(known, what="recording this host", seconds=seconds, output=output, quiet=quiet)
    return INTERRUPTED if found.interrupted else HEALTHY


def _others(hosts: "Sequence[Host]", known: "Sequence[Probe]", output: str, *, seconds: float, quiet: bool) -> int:
    """Record each of `hosts`; what could not be reached is said, and makes the exit status."""
    from qops.cli import fleet

    path = Path(output)
    single = len(hosts) == 1 and not path.is_dir() and not output.endswith("/")
    if not single:
        if path.is_file() or path.name.endswith((".tar.gz", ".tgz")):
            raise UsageError(f"{len(hosts)} hosts do not go into the one bundle {output}", "name a folder: -o bundles/")
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise BundleError(f"cannot make {output}: {error.strerror}") from None

    def place(host: "Host") -> str:
        return output if single else str(path / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', host.name).lstrip('.')}.tar.gz")

    looked, interrupted = fleet.look(
        hosts,
        known,
        lambda found, lost, written: f"{written}; {lost}" if lost else written,
        what=f"recording {hosts[0].name if len(hosts) == 1 else f'{len(hosts)} hosts'} for {seconds:.0f} s",
        seconds=seconds,
        output=place,
        quiet=quiet,
    )
    for one in looked:
        if one.error is not None:
            click.echo(f"not reached: {one.error.message}; try: {one.error.hint}", err=True)
        elif not quiet:
            click.echo(one.result or f"{one.host.name}: interrupted before it answered", err=True)
    if any(one.error is not None for one in looked):
        return UNREACHABLE
    return INTERRUPTED if interrupted else HEALTHY
