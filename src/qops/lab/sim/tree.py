"""A redirected tree: the files of a simulated /sys, /proc and /dev, written below one root."""

from __future__ import annotations

import os
from pathlib import Path


class Tree:
    """Writes files and links below a root, by the absolute path that they stand for."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def at(self, path: str) -> Path:
        """Return where an absolute path lies."""
        return self.root / path.lstrip("/")

    def put(self, path: str, text: str) -> None:
        """Write a file; a missing last newline is added, as in /sys."""
        target = self.at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text if text.endswith("\n") or not text else text + "\n", encoding="utf-8")

    def put_all(self, folder: str, files: dict[str, object]) -> None:
        """Write several files of one folder."""
        for name, value in files.items():
            self.put(f"{folder}/{name}", str(value))

    def folder(self, path: str) -> None:
        """Make an empty folder."""
        self.at(path).mkdir(parents=True, exist_ok=True)

    def link(self, path: str, target: str) -> None:
        """Link to another path of the tree, relative, so that the tree can be moved."""
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(self.at(target), place.parent))
