"""Whether the caller is root, which the setters and lspci's capabilities ask for."""

from __future__ import annotations

import os


def is_root() -> bool:
    """Tell whether the caller is root; `QOPS_LAB_AS_ROOT` says so in a test."""
    return os.geteuid() == 0 or bool(os.environ.get("QOPS_LAB_AS_ROOT"))
