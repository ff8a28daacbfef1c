"""The tables in docs/measurements.md that tests write by themselves: each row in the place of an older one.

Rows of tests that did not run stay as they are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs/measurements.md"
LONGEST = 200  # characters of a cell


@dataclass(frozen=True, slots=True)
class Table:
    """A table between two marks of the page. Rows with the same first `key` cells take each other's place."""

    name: str
    written_by: str
    head: tuple[str, ...]
    key: int

    @property
    def begin(self) -> str:
        return f"<!-- {self.name}: begin ({self.written_by}) -->"

    @property
    def end(self) -> str:
        return f"<!-- {self.name}: end -->"

    def merged(self, page: str, new: Sequence[str]) -> str:
        """Return the page with a row in its table."""
        before, _, rest = page.partition(self.begin)
        table, _, after = rest.partition(self.end)
        older = [
            tuple(cell.strip() for cell in line.strip("| ").split(" | ")) for line in table.strip().splitlines()[2:]
        ]
        rows = {one[: self.key]: one for one in (*older, tuple(map(_cell, new)))}
        lines = [f"| {' | '.join(one)} |" for one in (self.head, ("---",) * len(self.head), *rows.values())]
        return "\n".join([before + self.begin, *lines, self.end + after])

    def record(self, new: Sequence[str]) -> None:
        """Put a row into the page."""
        PAGE.write_text(self.merged(PAGE.read_text(encoding="utf-8"), new), encoding="utf-8")


def _cell(text: str) -> str:
    """Return the text without what ends a cell."""
    return re.sub(r"[|\s]+", " ", text).strip()[:LONGEST]
