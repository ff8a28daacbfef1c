"""`qops lab drill`: find a fault that nobody names, against the clock, on a practice host."""

import json
from typing import TYPE_CHECKING

import click

from qops.cli.lab_output import FORMAT, progress
from qops.errors import FAULT, HEALTHY, UsageError

if TYPE_CHECKING:
    from qops.lab.drill import Score

EXAMPLES = """
\b
Examples:
  qops lab drill                              any fault, on the lab's first host
  qops lab drill kv-cache-too-small           this one, to learn it; --host names the host
  qops diagnose -i lab.yml -l rtx5090-1       as on a real machine (qops lab inventory >lab.yml)
  qops lab drill answer gpu-fell-off-bus      what you think it is: a cause, as a diagnosis names it
  qops lab drill stop                         give up: it says what it was, and mends the host

\b
100 points; each wrong answer costs 20, and each minute after the fifth costs 5.
Exit status: 0 done or right, 1 a wrong answer, 2 not possible as asked.
"""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from qops.lab import faults

    return [name for name in ("answer", "stop", *(one.cause for one in faults.ALL)) if name.startswith(incomplete)]


@click.command(epilog=EXAMPLES)
@click.argument("words", nargs=-1, metavar="[CAUSE] | answer CAUSE | stop", shell_complete=_complete)
@click.option("--host", metavar="HOST", help="The practice host. [default: the lab's first]")
@FORMAT
def drill(words: tuple[str, ...], host: str | None, form: str) -> int:
    """Plant a fault without saying which, and take the time until it is named.

    The GPUs are simulated, and nothing outside the practice host is touched.
    """
    from qops.lab import drill as drills
    from qops.lab import lifecycle, place

    here = place.here()
    if words[:1] == ("answer",):
        if len(words) != 2:
            raise UsageError("an answer is one cause", "qops lab drill answer gpu-fell-off-bus")
        return _scored(drills.answer(here, words[1], progress()), form)
    if words == ("stop",):
        was = drills.end(here, progress())
        click.echo(f"it was {was.cause} on {was.host}; its runbook: qops runbook show {was.cause}")
        return HEALTHY
    if len(words) > 1:
        raise UsageError(f"not understood: {' '.join(words)}", "qops lab drill --help")
    hosts = [one.host for one in lifecycle.containers(here)]
    if not hosts:
        raise UsageError("the lab has no hosts", "qops lab up rtx5090")
    # Nothing of what planting says is shown: it would tell.
    begun = drills.begin(here, host or hosts[0], words[0] if words else "", lambda text: None)
    if form == "json":
        click.echo(json.dumps({"schema": 1, "host": begun.host, "begun": begun.begun}))
    else:
        click.echo(f"Something is wrong with {begun.host}. The clock runs.")
        click.echo("Look: qops lab inventory >lab.yml; qops diagnose -i lab.yml; qops runbook list", err=True)
        click.echo("Then: qops lab drill answer CAUSE", err=True)
    return HEALTHY


def _scored(score: "Score", form: str) -> int:
    if form == "json":
        told = {name: getattr(score, name) for name in score.__struct_fields__}
        click.echo(json.dumps({"schema": 1, **told}))
    elif score.right:
        click.echo(f"right: {score.cause}, after {score.seconds:.0f} s and {score.wrong} wrong: {score.points} points")
        click.echo(f"{score.host} is mended; what a real machine would need: qops runbook show {score.cause}", err=True)
    else:
        click.echo(f"wrong; {score.points} points are left, and the clock runs")
    return HEALTHY if score.right else FAULT
