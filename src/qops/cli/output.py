"""Writing what a command prints: to standard output, or to a file that is whole or not there."""

import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from qops import whole_file
from qops.errors import UsageError

if TYPE_CHECKING:
    from qops.render.screen import Line

F = TypeVar("F", bound=Callable[..., Any])


def option(command: F) -> F:
    """Add `-o`."""
    return click.option(
        "-o", "--output", metavar="FILE", help="Write to FILE, which appears when it is whole; - is standard output."
    )(command)


def lines(lines: "Sequence[Line]", path: str | None, *, color: str = "auto") -> None:
    """Write styled lines as `write` does; in a file they have colour only with `color` "always"."""
    from qops.render import screen

    if path in (None, "-"):
        screen.write(lines, color=color)
        return
    page = io.StringIO()
    screen.write(lines, color=color, stream=page)
    write(page.getvalue(), path)


def write(text: str, path: str | None) -> None:
    """Write `text` to `path`, or to standard output when that is None or "-".

    A regular file is replaced in one step, with the rights that the umask gives: who reads it at any time, such as
    node_exporter, never sees a part. UsageError when it cannot be written.
    """
    if path in (None, "-"):
        sys.stdout.write(text)
        return
    target = Path(path or "")
    try:
        if target.exists() and not target.is_file():
            if target.is_dir():
                raise UsageError(f"{path} is a folder", "name a file")
            target.write_text(text, encoding="utf-8")  # a pipe or a device
            return
        whole_file.replace(target.resolve(), text.encode())
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}", "name a file in a folder that you can write"
        ) from None
