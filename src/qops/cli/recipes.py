"""`qops recipes`: what serves a model, and whether an engine's release takes it."""

import re

import click

from qops.cli import options, output

_NAME = re.compile(r"[a-z0-9][a-z0-9.\-]{0,62}")
EXAMPLES = """
\b
Examples:
  qops recipes list --class rtxpro --engine sglang
  qops recipes list --here
  qops recipes show qwen3.5-397b-nvfp4-vllm
  qops recipes check qwen3.5-397b-nvfp4-vllm
  qops recipes check my-recipe --recipes inventory/recipes --version 0.33.0
  qops recipes check --engine vllm --version 0.33.0 -- vllm serve Qwen/Qwen3.6-35B-A3B -tp 2
  qops recipes check --version 0.5.23 -- env SGLANG_SET_CPU_AFFINITY=1 sglang serve --model-path /model
  qops recipes check --file docker-compose.yml --version 0.32.0
  qops recipes check --file /etc/systemd/system/vllm.service --version 0.33.0
  qops recipes check --engine vllm --version 0.33.0 --file .env
  qops recipes check --file docker-compose.yml --version 0.33.0 --format sarif -o qops.sarif

\b
Exit status: 0 nothing that the engine refuses, 1 something it refuses, 2 usage.
"""


@click.group(
    help="Work with recipes, and with the commands that serve models." + "\n" + EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def recipes() -> None:
    """Root of the commands about recipes; its help text is in the decorator."""


_FOLDERS = click.option(
    "--recipes", "folders", multiple=True, metavar="DIR", help="A folder of your own recipes. Repeatable."
)


@recipes.command(name="list")
@_FOLDERS
@click.option("--engine", type=click.Choice(["vllm", "sglang"]), help="Only recipes of this engine.")
@click.option("--class", "class_", type=click.Choice(["spark", "rtxpro", "rtx5090", "hgx"]), help="Only of this class.")
@click.option("--here", is_flag=True, help="Look at this host, and say which of them it runs.")
@options.form("text", "json")
@click.option("-q", "--quiet", is_flag=True, help="No line of progress.")
def list_(folders: tuple[str, ...], engine: str | None, class_: str | None, here: bool, form: str, quiet: bool) -> int:
    """List the recipes, or with --here those that this host runs, and why not the others."""
    from qops.cli.showing import listed

    return listed(folders, engine, class_, here, form, quiet)


@recipes.command()
@click.argument("name")
@_FOLDERS
@options.form("text", "json")
def show(name: str, folders: tuple[str, ...], form: str) -> int:
    """Show all of a recipe: its flags, what became of its source's settings, warnings and published figures."""
    from qops.cli.showing import shown

    return shown(name, folders, form)


@recipes.command(epilog=EXAMPLES, context_settings={"ignore_unknown_options": True})
@click.option("--engine", type=click.Choice(["vllm", "sglang"]), help="Whose; found in the command where it names it.")
@click.option("--version", metavar="RELEASE", help="Which release; found in the image's tag where that names it.")
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(allow_dash=True),
    metavar="FILE",
    help="Check a systemd unit, a quadlet, a compose file, a .env or a script; `-` is stdin. Repeatable.",
)
@_FOLDERS
@options.form("text", "json", "sarif")
@output.option
@click.argument("command", metavar="[RECIPE... | COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def check(
    engine: str | None,
    version: str | None,
    files: tuple[str, ...],
    folders: tuple[str, ...],
    form: str,
    output: str | None,
    command: tuple[str, ...],
) -> int:
    """Check COMMAND, a file with one, or a recipe, against what a release of vLLM or SGLang accepts.

    A recipe is checked for the oldest, a middle and the newest release of its range, or for --version.
    """
    from qops.cli.checking import run, run_recipes

    # Names of recipes look like words of a command; one with a hyphen alone is no command.
    if command and not files and not engine and all(_NAME.fullmatch(word) for word in command):
        from qops.cli.serving import library

        known = library(folders, None)
        if set(command) & set(known) or (len(command) == 1 and "-" in command[0]):
            return run_recipes(known, command, version or "", form, output)
    return run(engine or "", version or "", files, command, form, output)
