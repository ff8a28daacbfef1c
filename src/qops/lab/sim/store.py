"""Where a host keeps its scenario, its faults and its settings, and how they are read and written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def etc() -> Path:
    """Return the folder of hardware.json and faults.json."""
    return Path(os.environ.get("QOPS_LAB_ETC", "/etc/qops-lab"))


def var() -> Path:
    """Return the folder of state.json."""
    return Path(os.environ.get("QOPS_LAB_VAR", "/var/lib/qops-lab"))


def root() -> Path:
    """Return the root under which the host's redirected /sys, /proc and /dev lie."""
    return Path(os.environ.get("QOPS_ROOT") or var() / "root")


def system() -> Path:
    """Return the root of the host's own configuration; tests put a folder in its place."""
    return Path(os.environ.get("QOPS_LAB_SYSTEM", "/"))


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an absent or broken file is an empty object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def read_line(path: Path) -> str:
    """Return the first line of a file, or nothing if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").split("\n", 1)[0].strip()
    except OSError:
        return ""


def write_text(path: Path, text: str) -> None:
    """Replace a file in one step, so that a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o644)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a JSON file in one step."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


def state() -> dict[str, Any]:
    """Return the host's settings."""
    return read_json(var() / "state.json")


def set_state(section: str, key: str, value: Any) -> None:
    """Set one entry of one section of the host's settings; `None` removes it."""
    settings = state()
    entries = settings.setdefault(section, {})
    if value is None:
        entries.pop(key, None)
    else:
        entries[key] = value
    write_json(var() / "state.json", settings)
