"""The simulator's clock: real time, or the time that a test pins."""

from __future__ import annotations

import os
import time


def now() -> float:
    """Return seconds since the epoch; `QOPS_LAB_NOW` pins it."""
    pinned = os.environ.get("QOPS_LAB_NOW")
    return float(pinned) if pinned else time.time()


def pause(seconds: float) -> None:
    """Wait, except where a test has pinned the clock."""
    if not os.environ.get("QOPS_LAB_NOW"):
        time.sleep(seconds)
