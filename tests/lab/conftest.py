"""A lab of the tests' own: its name and its state lie apart from any lab that a person has here."""

import uuid
from collections.abc import Iterator

import pytest
import yaml
from practice_lab import Qops, base, why_not

from qops.lab import scenario


@pytest.fixture(scope="module")
def qops_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qops]:
    """A lab without hosts, which is taken down at the end."""
    qops = Qops(tmp_path_factory.mktemp("state"), f"test-{uuid.uuid4().hex[:8]}")
    yield qops
    qops("down")


@pytest.fixture(scope="session")
def tiny_yaml(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a scenario with one host `tiny`, which has a Spark's hardware."""
    if why_not():
        pytest.skip(why_not())
    path = tmp_path_factory.mktemp("scenario") / "tiny.yaml"
    content = {
        "name": "tiny",
        "about": "One host for the tests.",
        "class": "spark",
        "hosts": [{"name": "tiny", "base": base().name, "docker": True, "packages": False, "registry": False}],
        "hardware": dict(scenario.load("spark").hardware),
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


@pytest.fixture(scope="module")
def tiny(qops_lab: Qops, tiny_yaml: str) -> Qops:
    """A lab with the host of the scenario `tiny`."""
    qops_lab("up", tiny_yaml)
    return qops_lab
