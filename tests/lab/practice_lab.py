"""`qops lab` run as a process of its own, as a person runs it."""

import contextlib
import functools
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import yaml

from qops.errors import QopsError
from qops.lab import images, scenario
from qops.lab.docker import Docker
from qops.lab.images import Base
from qops.lab.place import Place

ROOT = Path(__file__).parent.parent.parent
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


@contextlib.contextmanager
def practice(state: Path, what: str, *scenarios: str) -> Iterator[Qops]:
    """A lab with the hosts of `scenarios`, named after `what` it is for, which is taken down at the end."""
    qops = Qops(state, f"{what}-{uuid.uuid4().hex[:8]}")
    try:
        qops("up", *scenarios)
        yield qops
    finally:
        qops("down")


def desk(folder: Path) -> Path:
    """Make `folder` with what playbooks need of a clone, where commands may leave their files; return it."""
    folder.mkdir()
    for one in ("ansible.cfg", "site.yml", "playbooks", "plugins", "roles"):
        (folder / one).symlink_to(ROOT / one)
    return folder


def workstations(folder: Path, *names: str, docker: bool = True) -> str:
    """Write a scenario with workstations of these names, with packages from the lab; return its path."""
    one = yaml.safe_load((scenario.folder() / "rtx5090.yaml").read_text())
    hosts = [{"name": name, "base": "debian13", "docker": docker, "packages": True} for name in names]
    path = folder / "workstations.yaml"
    path.write_text(yaml.safe_dump({**one, "name": "workstations", "hosts": hosts}))
    return str(path)


# The host's own programs as an image; what else is wanted comes in as a volume. No image of the lab's is large enough.
OWN_IMAGE = "tar -C / -c --exclude='tmp/*' bin sbin lib lib64 usr etc tmp | docker import - {}"
# Ends all sessions, and lets no new one in for some seconds.
CUT_SSH = "systemd-run -q --on-active={} systemctl start ssh; systemctl stop ssh; pkill -KILL -f '[s]shd.*@notty'"


@functools.cache
def why_not() -> str:
    """Return why no lab can be had here, and what would change that; empty if one can."""
    try:
        docker = Docker()
        docker.require()
        if not images.present(docker, base()):
            images.require(base())
        if shutil.which("ssh") is None:
            return "there is no ssh here; to run this: apt-get install openssh-client"
    except QopsError as error:
        return f"{error.message}; to run this: {error.hint}"
    return ""


@functools.cache
def base() -> Base:
    """Return a base image that is here already, or the one that `qops lab up` makes without names."""
    usual = Base(scenario.load("spark").hosts[0].base)
    bases = (usual, *(Base(name) for name in scenario.BASES))
    return next((base for base in bases if images.present(Docker(), base)), usual)
