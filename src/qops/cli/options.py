"""Options that several commands share, so that the same word means the same everywhere."""

import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
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
    )(become(command))


def become(command: F) -> F:
    """Add `-K` and `--become-password-file`, which `hosts` reads from the context: they go to hosts alone."""
    command = click.option(
        "--become-password-file",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        expose_value=False,
        callback=_keep,
        help="Read the password for sudo from FILE.",
    )(command)
    return click.option(
        "-K",
        "--ask-become-pass",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Ask once for the password that sudo wants on hosts with ansible_become.",
    )(command)


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    ctx.meta[f"qops.{param.name}"] = value


def hosts(inventory: str | None, limit: str | None, also: Collection[str] = ()) -> "tuple[Host, ...]":
    """Return the hosts that `-i` and `-l` name, with their variables `also`; none when neither is given.

    Hosts that are to become root have the password for sudo that the options or the inventory give. Raises UsageError.
    """
    context = click.get_current_context(silent=True)
    said = context.meta if context else {}
    asked, file = said.get("qops.ask_become_pass"), said.get("qops.become_password_file")
    if inventory is None and (asked or file):
        raise UsageError("a password for sudo is for the hosts of an inventory, and none is given", "add -i INVENTORY")
    if asked and file:
        raise UsageError("-K and --become-password-file exclude each other", "leave one of them out")
    if inventory is None:
        if limit is not None:
            raise UsageError("-l chooses among the hosts of an inventory, and none is given", "add -i INVENTORY")
        return ()
    from qops import inventory as inventories

    found = inventories.hosts(inventory, limit or "all", also=also)
    return inventories.with_passwords(found, _ask if asked else (lambda: _read(file)) if file else None)


def _ask() -> str:
    if not sys.stdin.isatty():
        raise UsageError(
            "-K asks for the password for sudo, and there is no terminal", "give a file: --become-password-file FILE"
        )
    return str(click.prompt("password for sudo", hide_input=True, err=True))


def _read(name: str) -> str:
    try:
        text = Path(name).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"the password for sudo cannot be read from {name}: {reason}") from None
    if not text or "\n" in text or text.startswith("$ANSIBLE_VAULT"):
        what = "is empty" if not text else "is encrypted" if text.startswith("$ANSIBLE_VAULT") else "has several lines"
        raise UsageError(
            f"the file with the password for sudo {what}: {name}",
            "it holds the password in one line; from a vault: set ansible_become_password in the inventory",
        )
    return text
