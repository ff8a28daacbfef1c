import pytest

from qops.data import container_engines as data
from qops.derive.container_engine import choose, losing
from qops.evidence.container import Container, Containers
from qops.evidence.container_engine import ContainerEngine, DockerInfo
from qops.evidence.packages import Package, Packages
from qops.evidence.text import Quote

QUOTE = Quote("docker inspect", 1, "{")
NONE = Packages("dpkg")


def _with(**versions: str) -> Packages:
    names = {name.replace("_", "-").replace("docker-io", "docker.io"): v for name, v in versions.items()}
    return Packages("dpkg", {name: Package(name, version) for name, version in names.items()})


@pytest.mark.parametrize(
    ("system", "source", "package"),
    [
        ("debian 12", "docker", "docker-ce"),
        ("debian 13", "distribution", "docker.io"),
        ("ubuntu 22.04", "distribution", "docker.io"),
        ("ubuntu 24.04", "distribution", "docker.io"),
        ("ubuntu 26.04", "distribution", "docker.io"),
        ("rhel 9.6", "docker", "docker-ce"),
        ("rocky 10.0", "docker", "docker-ce"),
        ("almalinux 9.5", "docker", "docker-ce"),
    ],
)
def test_where_docker_comes_from_on_a_bare_host(system: str, source: str, package: str) -> None:
    choice = choose(system, NONE, ContainerEngine())
    assert (choice.source, choice.packages[0], choice.cdi, choice.refused) == (source, package, True, "")
    assert choice.because


@pytest.mark.parametrize(
    ("system", "reason"),
    [
        ("debian 12", "podman 4.3.1, and units for it (quadlets) need 4.4"),
        ("ubuntu 22.04", "podman 3.4.4, and units for it (quadlets) need 4.4"),
        ("ubuntu 24.04", "podman 4.9.3, and the GPUs' specifications (CDI 0.7.0) need 5.1"),
    ],
)
def test_podman_that_is_too_old_is_refused_with_the_reason(system: str, reason: str) -> None:
    assert reason in choose(system, NONE, ContainerEngine(), kind="podman").refused


@pytest.mark.parametrize("system", ["debian 13", "ubuntu 26.04", "rhel 9.6", "rhel 10.0"])
def test_podman_that_is_new_enough(system: str) -> None:
    choice = choose(system, NONE, ContainerEngine(), kind="podman")
    assert (choice.packages, choice.refused, choice.cdi) == (("podman",), "", True)


def test_a_podman_that_somebody_brought_counts_by_its_own_version() -> None:
    assert choose("debian 12", NONE, ContainerEngine(podman="5.4.2"), kind="podman").refused == ""


def test_the_docker_that_is_there_stays_also_where_it_is_too_old() -> None:
    choice = choose("debian 12", _with(docker_io="20.10.24+dfsg1-1"), ContainerEngine(docker="/usr/bin/docker"))
    assert (choice.source, choice.packages, choice.cdi) == ("distribution", ("docker.io",), False)
    assert "cannot give GPUs by CDI, which needs 26.1" in choice.note
    newer = choose("debian 12", _with(docker_ce="5:29.1.3-1~debian.12~bookworm"), ContainerEngine())
    assert (newer.source, newer.cdi, newer.note) == ("docker", True, "")


def test_another_docker_is_refused_while_containers_run() -> None:
    packages = _with(docker_io="20.10.24+dfsg1-1")
    busy = ContainerEngine(docker="/usr/bin/docker", info=DockerInfo("20.10.24", running=2))
    assert "ends 2 containers that run" in choose("debian 12", packages, busy, source="docker").refused
    idle = ContainerEngine(docker="/usr/bin/docker", info=DockerInfo("20.10.24"))
    assert choose("debian 12", packages, idle, source="docker").packages == data.DOCKER_PACKAGES


def test_what_cannot_be_is_refused() -> None:
    assert "no docker of its own" in choose("rhel 9.6", NONE, None, source="distribution").refused
    assert "does not know" in choose("plan9 4", NONE, None).refused
    assert "does not know" in choose("", NONE, None).refused


@pytest.mark.parametrize(
    ("text", "number"),
    [("26.1.5+dfsg1-9+deb13u1+b1", (26, 1, 5)), ("5:29.1.3-1~ubuntu.24.04~noble", (29, 1, 3)), ("", ()), ("x", ())],
)
def test_numbers_of_a_version(text: str, number: tuple[int, ...]) -> None:
    assert data.number(text) == number


def test_who_loses_its_gpus_when_systemd_is_reloaded() -> None:
    every = [Container(by, QUOTE, running=True, gpus_by=by) for by in ("gpus", "runtime", "cdi", "devices", "")]
    stopped = Container("stopped", QUOTE, running=False, gpus_by="gpus")
    containers = Containers((*every, stopped))
    systemd = ContainerEngine(info=DockerInfo("29.1.3", cgroup_driver="systemd"))
    assert [c.name for c in losing(containers, systemd)] == ["gpus", "runtime"]
    assert [c.name for c in losing(containers, None)] == ["gpus", "runtime"]  # not knowing is no safety
    assert losing(containers, ContainerEngine(info=DockerInfo("29.1.3", cgroup_driver="cgroupfs"))) == ()
