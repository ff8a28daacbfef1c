"""Which container engine a host should have, from where, and what a restart of it would end."""

from collections.abc import Sequence
from dataclasses import dataclass

from qops.data import container_engines as data
from qops.evidence.container import Container, Containers
from qops.evidence.container_engine import ContainerEngine
from qops.evidence.packages import Packages


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine and where it comes from; `packages` are those that make it, `refused` why it cannot be."""

    engine: str  # "docker" | "podman"
    source: str  # "distribution" | "docker" (Docker's own repository)
    packages: tuple[str, ...]
    version: str  # that is there, or that will come
    because: str
    cdi: bool
    refused: str = ""
    note: str = ""


def choose(
    system: str,
    packages: Packages | None,
    engine: ContainerEngine | None,
    *,
    kind: str = "docker",
    source: str = "auto",
) -> Choice:
    """Return the engine for an operating system ("debian 12"). `kind` is docker or podman.

    `source` is auto, distribution or docker. What is installed stays: changing the packages ends every container.
    """
    offer = data.offer(system)
    if offer is None:
        why = f"qops does not know which container engine {system or 'this system'} offers"
        return Choice(
            kind, source, (), "", "", cdi=False, refused=f"{why}: install one, and set container_engine_manage"
        )
    if kind == "podman":
        return _podman(system, offer, packages, engine)
    there = _docker_there(packages, engine)
    if there is not None:
        own, version = there
        cdi = data.number(version) >= data.DOCKER_CDI
        if source in ("auto", own):
            needed = offer.docker if own == "distribution" else data.DOCKER_PACKAGES[:3]
            note = "" if cdi else _too_old(version)
            return Choice("docker", own, needed, version, "the docker that is there stays", cdi, note=note)
        wanted = "Docker's repository" if source == "docker" else "the distribution"
        if engine is not None and engine.info.running:
            return Choice("docker", source, (), version, "", cdi, refused=_replacing(wanted, engine.info.running))
    if source == "auto":
        source = "distribution" if data.number(offer.docker_version) >= data.DOCKER_CDI else "docker"
    if source == "distribution":
        if not offer.docker:
            why = f"{system} has no docker of its own: take container_engine_source: docker, or podman"
            return Choice("docker", source, (), "", "", cdi=False, refused=why)
        cdi = data.number(offer.docker_version) >= data.DOCKER_CDI
        because = f"{system} offers docker {offer.docker_version}, and its updates come with the system's"
        note = "" if cdi else _too_old(offer.docker_version)
        return Choice("docker", source, offer.docker, offer.docker_version, because, cdi, note=note)
    because = "the inventory says so"
    if data.number(offer.docker_version) < data.DOCKER_CDI:
        own_docker = f"docker {offer.docker_version}" if offer.docker_version else "no docker"
        because = f"{system} offers {own_docker}, and GPUs by CDI need {_written(data.DOCKER_CDI)}"
    return Choice("docker", "docker", data.DOCKER_PACKAGES, "", because, cdi=True)


def _podman(system: str, offer: data.Offer, packages: Packages | None, engine: ContainerEngine | None) -> Choice:
    installed = engine.podman if engine else ""
    version = installed or (packages.version("podman") if packages else "") or offer.podman_version
    found = data.number(version)
    refused = ""
    if found < data.PODMAN_QUADLET:
        refused = f"{system} has podman {version}, and units for it (quadlets) need {_written(data.PODMAN_QUADLET)}"
    elif found < data.PODMAN_CDI:
        refused = (
            f"{system} has podman {version}, and the GPUs' specifications (CDI 0.7.0) need {_written(data.PODMAN_CDI)}"
        )
    if refused:
        refused += ": take container_engine_kind: docker"
    because = "the inventory says so, and it gives GPUs by CDI and runs from units"
    return Choice("podman", "distribution", ("podman",), version, because, cdi=not refused, refused=refused)


def _docker_there(packages: Packages | None, engine: ContainerEngine | None) -> tuple[str, str] | None:
    """Return the source and the version of the docker that is installed."""
    for name, source in (("docker-ce", "docker"), ("docker.io", "distribution"), ("moby-engine", "distribution")):
        version = packages.version(name) if packages else ""
        if version:
            return source, (engine.info.version if engine else "") or version
    return None


def _written(version: data.Version) -> str:
    return ".".join(map(str, version))


def _too_old(version: str) -> str:
    return (
        f"docker {version} cannot give GPUs by CDI, which needs {_written(data.DOCKER_CDI)}: containers get them by"
        " --gpus and lose them when systemd is reloaded. container_engine_source: docker brings a newer one"
    )


def _replacing(wanted: str, running: int) -> str:
    return f"taking docker from {wanted} instead ends {count(running, 'container')} that run: stop them first"


def count(number: int, what: str) -> str:
    """Return "1 container" or "3 containers"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def losing(containers: Containers | None, engine: ContainerEngine | None) -> tuple[Container, ...]:
    """Return the running containers that lose their GPUs when systemd is reloaded.

    With the systemd cgroup driver, devices that a hook or the nvidia runtime adds are unknown to systemd, which takes
    them away (NVIDIA/cloud-native-docs, container-toolkit troubleshooting). Docker 29.2 gives --gpus by CDI, and a
    runtime of toolkit 1.18 may; an inspection does not tell, so these count too.
    """
    driver = engine.info.cgroup_driver if engine else ""
    if driver == "cgroupfs" or containers is None:
        return ()
    return tuple(c for c in containers.containers if c.running and c.gpus_by in ("gpus", "runtime"))


def reload_refusal(containers: Sequence[Container], what: str) -> str:
    """Return why `what` must not be done while these containers run."""
    names = ", ".join(c.name for c in containers[:5]) + (", …" if len(containers) > 5 else "")
    return (
        f"{what} reloads systemd, and {names} would lose the GPUs that came by --gpus or the nvidia runtime: stop"
        f" {'it' if len(containers) == 1 else 'them'} first, or start with --device nvidia.com/gpu=all"
    )
