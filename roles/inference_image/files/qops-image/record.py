"""What this program knows of the images that it brought here: a file, which the next run and a diagnosis read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

KEPT = 2  # the current image of a name, and the one before it


class Record:
    """`names` maps a name to its images, the newest first; `looks` maps an image to what lies in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # not there, or cut off: everything in it can be found again
            data = {}
        self.names: dict[str, list[dict[str, Any]]] = data.get("names", {})
        self.looks: dict[str, dict[str, Any]] = data.get("looks", {})

    def current(self, name: str) -> dict[str, Any]:
        """Return the newest image of a name, or nothing."""
        images = self.names.get(name)
        return images[0] if images else {}

    def put(self, name: str, entry: dict[str, Any]) -> None:
        """Make an image the current one; one that was here before is not listed twice."""
        rest = [e for e in self.names.get(name, []) if e["local"] != entry["local"]]
        self.names[name] = [entry, *rest]

    def amend(self, name: str, entry: dict[str, Any]) -> None:
        """Replace what is known of the current image."""
        self.names[name][0] = entry

    def proved(self, name: str, digest: str, identity: str) -> list[str]:
        """Return the images that were brought here as this digest or id, under this name."""
        if not digest and not identity:
            return []
        return [e["local"] for e in self.names.get(name, []) if (e["digest"], e["id"]) == (digest, identity)]

    def old(self) -> list[tuple[str, dict[str, Any]]]:
        """Return what is neither current nor previous of any name."""
        kept = {e["local"] for images in self.names.values() for e in images[:KEPT]}
        return [(name, e) for name, images in self.names.items() for e in images[KEPT:] if e["local"] not in kept]

    def forget(self, name: str, entry: dict[str, Any]) -> None:
        """Drop an image that was removed."""
        self.names[name].remove(entry)
        self.looks.pop(entry["local"], None)

    def write(self, when: str) -> None:
        """Write the file: whole, or not at all."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_suffix(".new")
        with temporary.open("w", encoding="utf-8") as file:
            json.dump({"schema": 1, "written": when, "names": self.names, "looks": self.looks}, file)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._path)
