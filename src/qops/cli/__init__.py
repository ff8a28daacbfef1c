"""The command line: a lazy group, one module per command. Nothing heavy is imported before it is needed."""

import gc
import sys

from qops.cli.group import qops
from qops.cli.run import run

__all__ = ["main", "qops"]


def main() -> None:
    """Run the command line and leave with its exit status."""
    # What a start makes stays until the end: looking through it for garbage took a tenth of a short run.
    gc.set_threshold(100_000, 50, 50)
    sys.exit(run(sys.argv[1:]))
