"""A lab of the tests' own: its name and its state lie apart from any lab that a person has here."""

import functools
import shutil
import uuid
from collections.abc import Iterator

import pytest
import yaml
from practice_lab import Qops

from qops.errors import QopsError
from qops.lab import images, scenario
from qops.lab.docker import Docker
from qops.lab.images import Base


@functools.cache
def _why_not() -> str:
    """Return why no lab can be had here, and what would change that; empty if one can."""
    try:
        docker = Docker()
        docker.require()
        if not images.present(docker, _base()):
            images.require(_base())
        if shutil.which("ssh") is None:
            return "there is no ssh here; to run this: apt-get install openssh-client"
    except QopsError as error:
        return f"{error.message}; to run this: {error.hint}"
    return ""


@functools.cache
def _base() -> Base:
    """Return a base image that is here already, or the one that `qops lab up` makes without names."""
    usual = Base(scenario.load("spark").hosts[0].base)
    bases = (usual, *(Base(name) for name in scenario.BASES))
    return next((base for base in bases if images.present(Docker(), base)), usual)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs the lab before its fixtures, of whatever scope, ask for Docker."""
    if item.get_closest_marker("lab") and (why := _why_not()):
        pytest.skip(why)


@pytest.fixture(scope="module")
def qops_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    """A lab without hosts, which is taken down at the end."""
    qops = Qops(tmp_path_factory.mktemp("state"), f"test-{uuid.uuid4().hex[:8]}")
    yield qops
    qops("down")


@pytest.fixture(scope="session")
def tiny_yaml(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a scenario with one host `tiny`, which has a Spark's hardware."""
    if _why_not():
        pytest.skip(_why_not())
    path = tmp_path_factory.mktemp("scenario") / "tiny.yaml"
    content = {
        "name": "tiny",
        "about": "One host for the tests.",
        "class": "spark",
        "hosts": [{"name": "tiny", "base": _base().name, "docker": True, "packages": False, "registry": False}],
        "hardware": dict(scenario.load("spark").hardware),
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


@pytest.fixture(scope="module")
def tiny(qops_lab: Qops, tiny_yaml: str) -> Qops:
    """A lab with the host of the scenario `tiny`."""
    qops_lab("up", tiny_yaml)
    return qops_lab
