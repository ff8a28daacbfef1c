"""Writing styled lines: colour is decided here and nowhere else."""

import os
import sys
from collections.abc import Sequence
from typing import TextIO

Segment = tuple[str, str]  # (text, style); the style is a rich style or ""
Line = Sequence[Segment]


def coloured(choice: str, stream: TextIO) -> bool:
    """Return whether `stream` gets colour: by `--color`, NO_COLOR, FORCE_COLOR, and last whether it is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def write(lines: Sequence[Line], *, color: str = "auto", stream: TextIO | None = None) -> None:
    """Write `lines`, never wrapped or truncated."""
    out = stream or sys.stdout
    if not coloured(color, out):
        out.write("".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, force_terminal=True, soft_wrap=True, highlight=False)
    for line in lines:
        console.print(Text.assemble(*((text, style) for text, style in line)), soft_wrap=True)


def markdown(text: str, *, color: str = "auto") -> None:
    """Write a Markdown page: rendered on a terminal, as it stands otherwise."""
    if not coloured(color, sys.stdout):
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(force_terminal=True).print(Markdown(text))
