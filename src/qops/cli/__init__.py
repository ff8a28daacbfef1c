"""The command line: a lazy group, one module per command. Nothing heavy is imported before it is needed."""

import sys

from qops.cli.group import qops
from qops.cli.run import run

__all__ = ["main", "qops"]


def main() -> None:
    """Run the command line and leave with its exit status."""
    sys.exit(run(sys.argv[1:]))
