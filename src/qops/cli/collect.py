"""`qops collect`: this host's evidence as a redacted bundle."""

import click

from qops.cli import options
from qops.report import HEALTHY, INTERRUPTED


@click.command(epilog="Example: sudo qops collect -o $(hostname).tar.gz, then: qops diagnose --from FILE")
@click.argument("family", type=click.Choice([*options.FAMILIES, "all"]), default="all")
@click.option("-o", "--output", type=click.Path(dir_okay=False), required=True, help="The bundle to write (tar.gz).")
@click.option(
    "--seconds", type=click.FloatRange(1, 600), default=options.SECONDS, show_default=True, help="Time to look."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when it went well.")
def collect(family: str, output: str, seconds: float, quiet: bool) -> int:
    """Record this host's evidence to a bundle, with tokens, keys and passwords removed.

    The bundle holds what each command answered. Look at it before you pass it on: `tar tzf FILE`.
    """
    from qops import probes
    from qops.cli.looking import look

    wanted = [p for p in probes.ALL if family == "all" or family in p.families]
    found = look(wanted, what="recording this host", seconds=seconds, output=output, quiet=quiet)
    return INTERRUPTED if found.interrupted else HEALTHY
