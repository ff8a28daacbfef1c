"""A container of a practice host that was given GPUs: it has them for as long as it may open their control device."""

from __future__ import annotations

import os
from pathlib import Path

LOST = "Failed to initialize NVML: Unknown Error\n"
LOST_STATUS = 255  # as owners see it from `docker exec` and `kubectl exec`


def lost() -> bool:
    """Tell whether this runs in such a container and its cgroup's device rules refuse the device, which is real."""
    if not os.environ.get("QOPS_LAB_CONTAINER"):
        return False
    try:
        with Path("/dev/nvidiactl").open("rb"):
            return False
    except PermissionError:
        return True
    except OSError:
        return False
