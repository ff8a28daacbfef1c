"""What the lab's commands share: their format option, lines of progress, and tables."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from qops.lab.place import Say

FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)


def progress() -> "Say":
    """Return what prints a line of progress with the time since now."""
    began = time.monotonic()

    def say(text: str) -> None:
        click.echo(f"{time.monotonic() - began:6.1f} s  {text}", err=True)

    return say


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows below their heads, in columns."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head) - 1)]
    for row in [head, *rows]:
        click.echo("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]))
