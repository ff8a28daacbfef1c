"""`qops lab`: practice hosts with simulated GPUs, to try roles and diagnosis on."""

import json
import os
import sys
from typing import TYPE_CHECKING

import click

from qops.cli.lab_drill import drill
from qops.cli.lab_engine import engine
from qops.cli.lab_output import FORMAT, progress, table

if TYPE_CHECKING:
    from qops.lab.lifecycle import HostStatus

EXAMPLES = """
\b
Examples:
  qops lab up spark                    bring up a practice DGX Spark
  qops lab ssh spark-1 -- nvidia-smi   run a command on its host
  qops lab break shm-too-small spark-1 plant a fault, then look for it
  ansible all -i <(qops lab inventory) -m ping
  qops lab drill                       find a fault that nobody names, against the clock
  qops lab down                        leave nothing behind

\b
The lab needs Docker, and root once for each base image. QOPS_LAB names a second lab beside the first.
Exit status: 0 done, 2 not possible here or as asked, 70 internal error, 130 interrupted.
"""


@click.group(
    help="Practice on hosts whose GPUs are simulated." + "\n" + EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def lab() -> None:
    """Root of the lab's commands; its help text is in the decorator."""


@lab.command()
@click.argument("scenarios", nargs=-1)
def up(scenarios: tuple[str, ...]) -> None:
    """Bring up the hosts of SCENARIOS, by name or by the path of a .yaml file.

    Without names: the hosts that the lab has, or the scenario `spark`. What is already up is left as it is.
    """
    from qops.lab import lifecycle, place

    raised = lifecycle.up(place.here(), scenarios, progress())
    for one in raised:
        click.echo(f"{one.host}\t{one.address}\t{one.hardware_class}")
    if raised and sys.stderr.isatty():
        click.echo(f"try: qops lab ssh {raised[0].host} -- nvidia-smi", err=True)


@lab.command()
@click.option(
    "--images/--keep-images",
    "images",
    default=False,
    help="Remove the base images and the engine too. [default: keep them]",
)
def down(images: bool) -> None:
    """Remove the lab: hosts, network, volumes, keys."""
    from qops.lab import lifecycle, place

    lifecycle.down(place.here(), progress(), with_images=images)


@lab.command()
@FORMAT
def status(form: str) -> None:
    """Show the hosts, which faults are planted in them, and the services that they use."""
    from dataclasses import replace

    from qops.lab import lifecycle, place
    from qops.lab.drill import current as drill_of

    hosts = lifecycle.status(place.here())
    if on := drill_of(place.here()):  # a drill does not say what it planted
        hosts = tuple(replace(one, faults=("a drill",)) if one.host == on.host else one for one in hosts)
    offered = lifecycle.service_statuses(place.here())
    if form == "json":
        services = [
            {"service": one.name, "status": one.status, "address": one.address, "url": one.url, "offers": one.offers}
            for one in offered
        ]
        click.echo(json.dumps({"schema": 1, "hosts": [_plain(one) for one in hosts], "services": services}, indent=2))
        return
    if not hosts:
        click.echo("the lab has no hosts (qops lab up)", err=True)
    rows = [
        (
            one.host,
            one.status,
            one.address,
            one.scenario,
            "unknown" if one.faults is None else ", ".join(one.faults) or "-",
        )
        for one in hosts
    ]
    table(("HOST", "STATUS", "ADDRESS", "SCENARIO", "FAULTS"), rows)
    if offered:
        click.echo()
        table(
            ("SERVICE", "STATUS", "ADDRESS", "URL"), [(one.name, one.status, one.address, one.url) for one in offered]
        )


@lab.command(context_settings={"ignore_unknown_options": True})
@click.argument("host")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def ssh(host: str, command: tuple[str, ...]) -> None:
    """Log in to HOST as root, or run a command there: qops lab ssh HOST -- CMD."""
    from qops.lab import keys, lifecycle, place

    here = place.here()
    found = lifecycle.find(here, host)
    argv = keys.ssh(here, found.address, command, ("-o", "LogLevel=ERROR"))
    os.execvp(argv[0], argv)  # noqa: S606 - ssh takes over the terminal


@lab.command()
def inventory() -> None:
    """Print the inventory that `ansible -i` takes."""
    from qops.lab import inventory as rendered
    from qops.lab import lifecycle, place

    here = place.here()
    click.echo(rendered.render(here, lifecycle.containers(here)), nl=False)


@lab.command("break")
@click.argument("fault")
@click.argument("host")
def break_(fault: str, host: str) -> None:
    """Plant FAULT in HOST; `qops lab list` has the faults."""
    from qops.lab import lifecycle, place, planting

    here, say = place.here(), progress()
    wanted = planting.find(fault)
    fresh = planting.plant(here, lifecycle.find(here, host), wanted, say)
    click.echo(f"{host}: {wanted.cause} {'planted' if fresh else 'was planted already'}: {wanted.about}")


@lab.command()
@click.argument("host")
@click.argument("faults", nargs=-1)
def mend(host: str, faults: tuple[str, ...]) -> None:
    """Mend FAULTS in HOST, or all that are planted there."""
    from qops.lab import lifecycle, place, planting

    here, say = place.here(), progress()
    causes = tuple(planting.find(name).cause for name in faults)
    mended = planting.mend(here, lifecycle.find(here, host), causes, say)
    for cause in mended:
        click.echo(f"{host}: {cause} mended")
    if not mended:
        click.echo(f"{host}: nothing to mend", err=True)


@lab.command("list")
@FORMAT
def list_(form: str) -> None:
    """List the scenarios and the faults."""
    from qops.lab import faults, scenario

    scenarios = [scenario.load(name) for name in scenario.names()]
    if form == "json":
        described = {
            "schema": 1,
            "scenarios": [
                {
                    "name": one.name,
                    "class": one.hardware_class,
                    "hosts": [each.name for each in one.hosts],
                    "about": one.about,
                }
                for one in scenarios
            ],
            "faults": [{"cause": one.cause, "classes": list(one.classes), "about": one.about} for one in faults.ALL],
        }
        click.echo(json.dumps(described, indent=2))
        return
    table(("SCENARIO", "HOSTS", "WHAT IT IS"), [(one.name, str(len(one.hosts)), one.about) for one in scenarios])
    click.echo()
    table(
        ("FAULT", "CLASSES", "WHAT IT DOES"),
        [(one.cause, " ".join(one.classes) or "all", one.about) for one in faults.ALL],
    )


def _plain(one: "HostStatus") -> dict[str, object]:
    return {
        "host": one.host,
        "status": one.status,
        "address": one.address,
        "scenario": one.scenario,
        "class": one.hardware_class,
        "faults": None if one.faults is None else list(one.faults),
    }


lab.add_command(engine)
lab.add_command(drill)
