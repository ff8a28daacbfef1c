"""Options that several commands share, so that the same word means the same everywhere."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from qops.errors import UsageError

if TYPE_CHECKING:
    from qops.inventory import Host

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


def fleet(command: F) -> F:
    """Add `-i` and `-l`, which name hosts to reach by SSH."""
    command = click.option(
        "-l", "--limit", metavar="PATTERN", help="Only these hosts: names, groups, globs, a:&b, a:!b."
    )(command)
    return click.option(
        "-i", "--inventory", metavar="FILE", help="Ask the hosts of this Ansible inventory by SSH, all at once."
    )(command)


def hosts(inventory: str | None, limit: str | None, also: Sequence[str] = ()) -> "tuple[Host, ...]":
    """Return the hosts that `-i` and `-l` name, with their variables `also`; none when neither is given.

    Raises UsageError.
    """
    if inventory is None:
        if limit is not None:
            raise UsageError("-l chooses among the hosts of an inventory, and none is given", "add -i INVENTORY")
        return ()
    from qops import inventory as inventories

    return inventories.hosts(inventory, limit or "all", also=also)
