"""`qops watch`: cheap looks at this host, one after another, with their evidence kept for whoever is called."""

import time
from pathlib import Path

import click

from qops.cli import options
from qops.errors import HEALTHY, UsageError

FOLDER = "/var/lib/qops/watch"
SIZE = 256  # MiB: at 40 KB for a look every five minutes, three weeks
EVERY = 300.0  # seconds

EXAMPLES = """
\b
Examples:
  sudo qops watch --once                     one look: verdict, evidence kept in /var/lib/qops/watch
  sudo qops watch --once --prometheus /var/lib/prometheus/node-exporter/qops.prom
  sudo qops watch --every 60                 until Ctrl-C
  qops watch show                            what was so before: when the verdict changed, and why
  cp "$(qops watch alerts)" /etc/prometheus/ the alerts on these metrics; then name it under rule_files
  qops diagnose --from /var/lib/qops/watch/20261130T101500Z-fault-HST008.tar.gz
"""


@click.group(invoke_without_command=True, epilog=EXAMPLES)
@click.option("--once", is_flag=True, help="Look once, and exit with the status of the verdict.")
@click.option(
    "--every", type=click.FloatRange(10, 86400), default=EVERY, show_default=True, help="Seconds between two looks."
)
@click.option("--folder", type=click.Path(), default=FOLDER, show_default=True, help="Where evidence is kept.")
@click.option(
    "--size", type=click.IntRange(1, 1 << 20), default=SIZE, show_default=True, help="MiB of it; the oldest go first."
)
@click.option("--prometheus", metavar="FILE", help="Write metrics to FILE too, for node_exporter's textfile collector.")
@click.option(
    "--suppress",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Findings that are not to count, each with a reason.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but the verdict.")
@click.pass_context
def watch(
    context: click.Context,
    once: bool,
    every: float,
    folder: str,
    size: int,
    prometheus: str | None,
    suppress: str | None,
    quiet: bool,
) -> int:
    """Look at this host cheaply: nothing is sampled over time, and no GPU context is made.

    A look cannot tell a hang from work; `qops diagnose` can, and needs 13 seconds for it.
    """
    context.obj = folder
    if context.invoked_subcommand:
        return HEALTHY
    from qops.cli import watching

    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(f"cannot make {folder}: {error.strerror}", "run it as root, or give --folder") from None
    watcher = watching.Watcher(place, size << 20, prometheus, suppress, quiet=quiet)
    while True:
        begun = time.monotonic()
        status = watcher.look()
        if once:
            return status
        time.sleep(max(0.0, every - (time.monotonic() - begun)))


@watch.result_callback()
def _status(status: int, **given: object) -> int:
    return status


@watch.command()
@options.form("text", "json")
@options.color
@click.pass_obj
def show(folder: str, form: str, color: str) -> int:
    """Say when the verdict changed and why, from the evidence that was kept. Every bundle named can be diagnosed."""
    from qops.cli import watching

    return watching.show(Path(folder), form, color)


@watch.command()
def alerts() -> int:
    """Print the path of the alerts for Prometheus. Their head says what prometheus.yml needs."""
    from qops.cli import watching

    click.echo(watching.alerts())
    return HEALTHY
