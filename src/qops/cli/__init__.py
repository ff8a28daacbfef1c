"""The command line: a lazy group, one module per command. Nothing heavy is imported before it is needed."""

import gc
import sys

from qops import __version__


def main() -> None:
    """Run the command line and leave with its exit status."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):  # said without click, which takes three times as long to import as Python
        print(f"qops {__version__}")  # noqa: T201
        return
    # What a start makes stays until the end: looking through it for garbage took a tenth of a short run.
    gc.set_threshold(100_000, 50, 50)
    from qops.cli.run import run

    status = run(arguments)
    gc.freeze()  # and looking through it again at the end, before all of it goes, took another tenth
    sys.exit(status)
