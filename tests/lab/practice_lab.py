"""`qops lab` run as a process of its own, as a person runs it."""

import os
import subprocess
import sys
from pathlib import Path

from qops.lab.place import Place

CALL_S = 400  # with one base image to make; a few seconds otherwise

# The real command line, with the lab in its table even while the group does not list it.
_QOPS = (
    "from qops.cli.group import COMMANDS; COMMANDS.setdefault('lab', ('qops.cli.lab', 'lab', ''));"
    "from qops.cli import main; main()"
)


class Qops:
    """Runs `qops lab` as a process of its own, as a person does."""

    def __init__(self, state: Path, name: str) -> None:
        self.name = name
        self.place = Place(name, state / "qops" / f"lab-{name}")
        self.environment = {**os.environ, "XDG_STATE_HOME": str(state), "QOPS_LAB": name}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", _QOPS, "lab", *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run one command to its end; return status, standard output and standard error."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=CALL_S)
        return process.returncode, out, err

    def __call__(self, *arguments: str) -> str:
        """Run one command that must succeed; return its standard output."""
        status, out, err = self.run(*arguments)
        assert status == 0, f"qops lab {' '.join(arguments)}: status {status}\n{out}\n{err}"
        return out
