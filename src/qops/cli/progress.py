"""Saying what takes so long: one line that is rewritten on a terminal, one that stays elsewhere."""

import sys
import time
from types import TracebackType

PATIENCE = 2.0  # seconds after which a person wants to know what is going on


class Line:
    """A line of progress on standard error, from the moment at which it is wanted until the end of the block."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self.what = what
        self.quiet = quiet
        self.live = sys.stderr.isatty() and not quiet
        self.begun = time.monotonic()
        self.said = False
        self.noted = self.begun  # when `due` last said so

    def __enter__(self) -> "Line":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def update(self, done: int, total: int, waiting: tuple[str, ...], seconds: float) -> None:
        """Say how far it is and what is being waited for. `seconds` since the start."""
        if self.live:
            slow = waiting[0].split("\n", 1)[0][:40] if waiting else ""
            rest = f", waiting for {slow}" if slow and done < total else ""
            self._write(f"{self.what}: {done} of {total} answers, {seconds:.0f} s{rest}")
        elif not self.quiet and not self.said and time.monotonic() - self.begun > PATIENCE:
            self.said = True
            sys.stderr.write(f"{self.what} …\n")
            sys.stderr.flush()

    def note(self, text: str) -> None:
        """Say `text` in place of the line."""
        if self.live:
            self._write(text)
        elif not self.quiet:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def say(self, text: str) -> None:
        """Say `text` in a line of its own, which stays."""
        self.clear()
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def due(self, every: float = 1.0) -> bool:
        """Return whether a note should be made now: once every `every` seconds on a terminal, elsewhere only once."""
        now = time.monotonic()
        if self.quiet or (self.said and not self.live) or now - self.noted < (every if self.live else PATIENCE):
            return False
        self.said, self.noted = True, now
        return True

    def clear(self) -> None:
        """Take the line away."""
        if self.live:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r\x1b[2K" + text)
        sys.stderr.flush()
