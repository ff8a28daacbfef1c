"""Options that several commands share, so that the same word means the same everywhere."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

SECONDS = 13.0  # of looking: three samples five seconds apart, and time for the last answers
FAMILIES = ("nccl", "cuda", "host", "serve")


def color(command: F) -> F:
    """Add `--color`."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colour; `auto` obeys NO_COLOR and FORCE_COLOR.",
    )(command)


def form(*formats: str) -> Callable[[F], F]:
    """Add `--format` with `formats`, the first being the default."""
    return click.option("--format", "form", type=click.Choice(formats), default=formats[0], show_default=True)


def split(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Split the values of a repeated option at commas."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())
