"""`qops-lab-load`: put a host's simulated GPUs under a kind of load, for practice and for tests."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import NOTICE, store
from .load import PROFILES


def main(arguments: Sequence[str]) -> int:
    """Set the profile of one GPU or of all; `auto` goes back to the scenario's."""
    names = [*PROFILES, "auto"]
    if not arguments or arguments[0] not in names:
        sys.stderr.write(f"{NOTICE}\nusage: qops-lab-load {'|'.join(names)} [GPU]\n")
        return 2
    gpu = arguments[1] if len(arguments) > 1 else "all"
    store.set_state("load", gpu, None if arguments[0] == "auto" else arguments[0])
    return 0
