"""The `qops` group: knows each command's name and one line of help, and imports a command when it is used."""

import importlib

import click

from qops import __version__

# name -> (module, attribute, one line of help)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "diagnose": (
        "qops.cli.diagnose",
        "diagnose",
        "Find the root cause of a fault, on this host or in recorded evidence.",
    ),
    "watch": ("qops.cli.watch", "watch", "Look cheaply and regularly, and keep the evidence of what was before."),
    "collect": ("qops.cli.collect", "collect", "Record this host's evidence to a redacted bundle."),
    "diff": ("qops.cli.diff", "diff", "Say what changed between two bundles, or two hosts."),
    "probe": ("qops.cli.probe", "probe", "Measure what only a running job can show, on idle GPUs."),
    "plan": ("qops.cli.plan", "plan", "Say what the roles would set on a host, and why."),
    "inventory": ("qops.cli.inventory", "inventory", "Find the mistakes in an inventory, without Ansible."),
    "recipes": ("qops.cli.recipes", "recipes", "List, show and check what serves a model."),
    "adopt": ("qops.cli.adopt", "adopt", "Write the inventory for a machine that serves already."),
    "explain": ("qops.cli.explain", "explain", "Explain a finding: what it means, and its runbook."),
    "fix": ("qops.cli.fix", "fix", "Mend a finding by its role, or say how; judged, and taken back if need be."),
    "runbook": ("qops.cli.runbook", "runbook", "Show a runbook, or follow it and keep a record."),
    "rules": ("qops.cli.rules", "rules", "List the rules."),
    "lab": ("qops.cli.lab", "lab", "Practise on hosts whose GPUs are simulated."),
    "completion": ("qops.cli.completion", "completion", "Print the completion script for a shell."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` names, or fail with the nearest names."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.exceptions.NoSuchCommand(args[0], possibilities=list(COMMANDS), ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


EXAMPLES = """
\b
Examples:
  qops diagnose                        judge this host, all families
  qops diagnose nccl --watch           wait for a hang on this host, and name the rank
  qops diagnose --from job.log         judge a log that someone sent
  qops diagnose -i hosts.yml -l spark  judge other hosts, over SSH
  qops collect -o host.tar.gz          record this host, secrets removed
  qops explain NCL001                  what it means and what to do

\b
Exit status: 0 healthy, 1 fault, 2 usage, 3 undetermined or incomplete,
4 unreachable, 70 internal error, 130 interrupted.
"""


@click.command(
    cls=LazyGroup,
    help="Tell why a GPU machine, or the LLM endpoint on it, does not work." + "\n" + EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, "-V", "--version", prog_name="qops", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def qops(debug: bool) -> None:
    """Root of all commands; its help text is in the decorator, and `--debug` is read where errors are caught."""
