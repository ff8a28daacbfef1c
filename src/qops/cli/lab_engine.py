"""`qops lab engine`: the real vLLM on practice hosts, and SGLang for services of one's own."""

import json

import click

from qops.cli.lab_output import FORMAT, progress, table

EXAMPLES = """
\b
Examples:
  qops lab engine build                install vLLM once for all hosts: 2 to 5 minutes, 3 GB
  qops lab engine build sglang         and SGLang beside it, for a service of your own
  qops lab engine start h200x2-1 --tp 2
  qops lab ssh h200x2-1 -- curl -s localhost:8000/v1/models
  qops lab break rank-stopped h200x2-1
"""


@click.group(
    help="Run the real vLLM on a practice host: on the CPU, with a tiny model of random weights.\n"
    "SGLang too, under a unit of your own; its GPU kernels are stand-ins that compute nothing.\n" + EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def engine() -> None:
    """Root of the engine's commands; its help text is in the decorator."""


@engine.command()
@click.argument("name", type=click.Choice(["vllm", "sglang"]), default="vllm")
def build(name: str) -> None:
    """Install vLLM and make its models, or SGLang beside it, once, for all hosts and labs of this machine."""
    from qops.lab import place
    from qops.lab.engine import building, layer

    one = layer.LAYERS[name]
    built = building.build(place.here(), name, progress())
    models = ", ".join(layer.VLLM.models)
    click.echo(f"engine: {name} {one.version} {'built' if built else 'is there already'}; models: {models}")


@engine.command()
@click.argument("host")
@click.option(
    "--tp", "ranks", type=click.Choice(["1", "2"]), default="1", show_default=True, help="Tensor-parallel ranks."
)
@click.option(
    "--model", default="tiny-qwen3", show_default=True, help="Or tiny-qwen3-5-moe: linear attention and experts."
)
def start(host: str, ranks: str, model: str) -> None:
    """Start the engine of HOST, at boot too, and wait until it answers: a minute or less on idle cores."""
    from qops.lab import lifecycle, place
    from qops.lab.engine import control, unit

    here, say = place.here(), progress()
    found = lifecycle.find(here, host)
    seconds = control.start(here, found, int(ranks), model, say)
    click.echo(f"{host}: engine serves at http://{found.address}:{unit.PORT} after {seconds:.0f} s")


@engine.command()
@click.argument("host")
def stop(host: str) -> None:
    """Stop the engine of HOST."""
    from qops.lab import lifecycle, place
    from qops.lab.engine import control

    here = place.here()
    control.stop(here, lifecycle.find(here, host), progress())
    click.echo(f"{host}: engine stopped")


@engine.command()
@click.argument("hosts", nargs=-1)
@FORMAT
def status(hosts: tuple[str, ...], form: str) -> None:
    """Show the engines of HOSTS, or of all: none, stopped, starting, serving, silent or failed."""
    from qops.lab import lifecycle, place
    from qops.lab.engine import control

    here = place.here()
    found = control.status([lifecycle.find(here, name) for name in hosts] or lifecycle.containers(here))
    if form == "json":
        rows = [{"host": one.host, "state": one.state, "stage": one.stage} for one in found]
        click.echo(json.dumps({"schema": 1, "engines": rows}, indent=2))
        return
    table(("HOST", "ENGINE", "LAST IN ITS LOG"), [(one.host, one.state, one.stage) for one in found])
