"""The ring of evidence: a folder of bundles, one for each look, of which the oldest go when it is full.

A look is first written as `20261130T101500Z.tar.gz` and gets the verdict into its name when it is judged:
`20261130T101500Z-fault-HST008.tar.gz`. Whenever it is interrupted, every file in the folder is a whole bundle.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from qops.report import HostReport

_NAME = re.compile(r"(\d{8}T\d{6}Z)(?:-(fault|healthy|undetermined)(?:-([A-Z]{3}\d{3}))?)?\.tar\.gz")
_STAMP = "%Y%m%dT%H%M%SZ"
FORGOTTEN = 3600.0  # seconds after which a part of a bundle is what a killed look has left


@dataclass(frozen=True, slots=True)
class Look:
    """One look in the ring. `verdict` is "" when nobody judged it; `code` is that of its first finding that counts."""

    path: Path
    at: datetime
    verdict: str
    code: str
    size: int  # bytes


def place(folder: Path, at: datetime) -> Path:
    """Return where the look that begins `at` is written."""
    return folder / f"{at.astimezone(UTC):{_STAMP}}.tar.gz"


def looks(folder: Path) -> tuple[Look, ...]:
    """Return the looks in the ring, the oldest first. Other files are nobody's business. OSError as of the folder."""
    found = []
    for path in folder.iterdir():
        named = _NAME.fullmatch(path.name)
        if named and path.is_file() and not path.is_symlink():
            try:
                at = datetime.strptime(named[1], _STAMP).replace(tzinfo=UTC)
                found.append(Look(path, at, named[2] or "", named[3] or "", path.stat().st_size))
            except (ValueError, FileNotFoundError):  # no time at all, or gone meanwhile
                continue
    return tuple(sorted(found, key=lambda look: look.path.name))


def name(path: Path, report: HostReport) -> Path:
    """Write the verdict of a look into the name of its bundle, and return where it is now."""
    first = next((finding for finding in report.findings if finding.counts and finding.severity != "info"), None)
    stem = path.name.removesuffix(".tar.gz")
    code = f"-{first.code}" if first else ""
    return path.replace(path.with_name(f"{stem}-{report.verdict}{code}.tar.gz"))


def prune(folder: Path, size: int, *, now: float | None = None) -> int:
    """Delete the oldest looks until `size` bytes hold the others; the newest stays. Return the bytes in the ring.

    Parts that a killed look has left go too.
    """
    old = (time.time() if now is None else now) - FORGOTTEN
    for part in folder.glob(".*.tar.gz.*.part"):
        if part.is_file() and not part.is_symlink() and part.stat().st_mtime < old:
            part.unlink(missing_ok=True)
    known = looks(folder)
    total = sum(look.size for look in known)
    for look in known[:-1]:
        if total <= size:
            break
        look.path.unlink(missing_ok=True)
        total -= look.size
    return total


def stretches(known: Sequence[Look]) -> tuple[tuple[Look, ...], ...]:
    """Return the looks in groups of those that follow each other with the same verdict and the same first finding."""
    groups: list[list[Look]] = []
    for look in known:
        if groups and (groups[-1][0].verdict, groups[-1][0].code) == (look.verdict, look.code):
            groups[-1].append(look)
        else:
            groups.append([look])
    return tuple(tuple(group) for group in groups)
