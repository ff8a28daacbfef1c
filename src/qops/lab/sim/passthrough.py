"""The real tool behind a simulated one, for what the simulator does not know."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

_NOT_FOUND = 127


def _find(name: str) -> Path | None:
    """Return the first tool of this name on PATH that is not the simulator's own."""
    own = (Path(__file__).resolve().parent / "bin" / name).resolve()
    for folder in os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").split(os.pathsep):
        candidate = Path(folder or ".") / name
        if os.access(candidate, os.X_OK) and candidate.is_file() and candidate.resolve() != own:
            return candidate
    return None


def _become(path: Path, name: str, arguments: Sequence[str]) -> NoReturn:
    os.execv(path, [name, *arguments])  # noqa: S606 - arguments go through as they came


def output(name: str, arguments: Sequence[str]) -> tuple[int, str]:
    """Return status and standard output of the real tool; its errors go where they always do."""
    found = _find(name)
    if found is None:
        sys.stderr.write(f"{name}: command not found\n")
        return _NOT_FOUND, ""
    done = subprocess.run([str(found), *arguments], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def real(name: str, arguments: Sequence[str]) -> int:
    """Become the real tool; where there is none, say so as a shell would."""
    found = _find(name)
    if found is None:
        sys.stderr.write(f"{name}: command not found\n")
        return _NOT_FOUND
    return _become(found, name, arguments)
