"""`qops recipes`: what serves a model, and whether an engine's release takes it."""

import click

from qops.cli import options

EXAMPLES = """
\b
Examples:
  qops recipes check --engine vllm --version 0.33.0 -- vllm serve Qwen/Qwen3.6-35B-A3B -tp 2
  qops recipes check --version 0.5.23 -- env SGLANG_SET_CPU_AFFINITY=1 sglang serve --model-path /model
  qops recipes check --file docker-compose.yml --version 0.32.0
  qops recipes check --file /etc/systemd/system/vllm.service --version 0.33.0
  qops recipes check --engine vllm --version 0.33.0 --file .env

\b
Exit status: 0 nothing that the engine refuses, 1 something it refuses, 2 usage.
"""


@click.group(
    help="Work with the commands that serve models." + "\n" + EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def recipes() -> None:
    """Root of the commands about recipes; its help text is in the decorator."""


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
@options.form("text", "json")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def check(engine: str | None, version: str | None, files: tuple[str, ...], form: str, command: tuple[str, ...]) -> int:
    """Check COMMAND, or a file with one, against what a release of vLLM or SGLang accepts."""
    from qops.cli.checking import run

    return run(engine or "", version or "", files, command, form)
