"""`qops completion`: the completion script of a shell."""

import click


@click.command(
    epilog="Example: qops completion bash > ~/.local/share/bash-completion/completions/qops",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL."""
    from click.shell_completion import get_completion_class

    from qops.cli.group import qops

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(made(qops, {}, "qops", "_QOPS_COMPLETE").source())
