"""Text as a host gave it, with the line numbers that a finding quotes."""

from collections.abc import Iterator

from msgspec import Struct


class Quote(Struct, frozen=True):
    """One line of evidence: where it stands and what it says."""

    source: str
    line: int  # counts from 1; 0: the answer as a whole
    text: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.text}" if self.line else f"{self.source}: {self.text}"


class Text(Struct, frozen=True):
    """The answer to one question, or one file, as lines without control characters.

    `numbers` is empty when the lines are consecutive from 1. A file too large to keep whole is reduced to
    the lines that any parser may want; then `numbers` holds each kept line's number in the file.
    """

    source: str
    lines: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    probe: str = ""  # the probe that asked; empty: to be found by content
    status: int | None = None  # exit status of the command; None for a file
    at: float | None = None  # seconds since the collection began, for answers sampled over time
    subject: str = ""  # what the question was about, e.g. "pid 615"
    size: int = 0  # bytes of the original, when it was reduced
    last_line: str = ""  # last non-blank line of the original, when it was reduced
    data: bytes = b""  # the bytes of a binary file (a flight recorder dump, a libcuda); then `lines` is empty

    def quote(self, index: int) -> Quote:
        """Quote the line at `index` (from 0)."""
        return Quote(self.source, self.number(index), self.lines[index].strip()[:2000])

    def number(self, index: int) -> int:
        """Return the line number in the original of the line at `index` (from 0)."""
        return self.numbers[index] if self.numbers else index + 1

    def numbered(self) -> Iterator[tuple[int, str]]:
        """Yield (line number in the original, line)."""
        return zip(self.numbers, self.lines, strict=True) if self.numbers else enumerate(self.lines, 1)


class Gap(Struct, frozen=True):
    """Something that was asked and not answered, and why."""

    source: str
    reason: str
    kind: (
        str  # "timeout" | "missing" | "denied" | "failed" | "unreadable" | "cut" (we left first) | "skipped" (not read)
    )
    probe: str = ""


class Gaps(Struct, frozen=True):
    """Everything that was asked and not answered. Always present."""

    gaps: tuple[Gap, ...] = ()

    def timeouts(self, program: str) -> tuple[Gap, ...]:
        """Return the time-outs of one program, e.g. `nvidia-smi`."""
        return tuple(g for g in self.gaps if g.kind == "timeout" and g.source.split(" ", 1)[0] == program)
