"""Container engines: what each operating system offers, and from which version an engine does what GPUs need."""

from msgspec import Struct

Version = tuple[int, ...]

# Specifications of version 0.7.0, which nvidia-ctk writes, need these (NVIDIA/cloud-native-docs, container-toolkit
# release notes, known issues of 1.19.1).
DOCKER_CDI: Version = (26, 1)
PODMAN_CDI: Version = (5, 1)
# `dockerd --validate` (docker/docs, release notes of 23.0).
DOCKER_VALIDATES: Version = (23, 0)
# Quadlets are in podman since 4.4 (its release notes).
PODMAN_QUADLET: Version = (4, 4)

DOCKER_REPOSITORY = "https://download.docker.com/linux"
# docker/docs: content/manuals/engine/install/{debian,ubuntu,rhel}.md
DOCKER_PACKAGES = ("docker-ce", "docker-ce-cli", "containerd.io", "docker-buildx-plugin", "docker-compose-plugin")


class Offer(Struct, frozen=True):
    """What one operating system has in its own repositories. Empty: it has none."""

    docker: tuple[str, ...]  # packages
    docker_version: str
    podman_version: str
    folder: str  # of Docker's repository
    suite: str = ""  # of Debian and Ubuntu


# By System.os; RHEL and its likes by "el" and the major version. Versions: packages.debian.org, and as Debian's
# mirror answered; packages.ubuntu.com with the security pocket, where docker.io follows upstream
# (documentation.ubuntu.com/project/SRU/reference/exception-Docker-Updates); RHEL has no docker at all, and podman 5
# since 9.5. Debian's docker.io has had its client in a package of its own since 13.
OFFERS: dict[str, Offer] = {
    "debian 12": Offer(("docker.io",), "20.10.24", "4.3.1", "debian", "bookworm"),
    "debian 13": Offer(("docker.io", "docker-cli"), "26.1.5", "5.4.2", "debian", "trixie"),
    "ubuntu 22.04": Offer(("docker.io",), "29.1.3", "3.4.4", "ubuntu", "jammy"),
    "ubuntu 24.04": Offer(("docker.io",), "29.1.3", "4.9.3", "ubuntu", "noble"),
    "ubuntu 26.04": Offer(("docker.io",), "29.1.3", "5.7.0", "ubuntu", "resolute"),
    "el 9": Offer((), "", "5.2.2", "rhel"),
    "el 10": Offer((), "", "5.4.0", "rhel"),
}
EL = ("rhel", "rocky", "almalinux", "centos", "ol")


def number(version: str) -> Version:
    """Return the numbers with which a version begins: (26, 1, 5) for "5:26.1.5+dfsg1-9"; empty for none."""
    plain = version.rpartition(":")[2]
    head = plain.split("-", 1)[0].split("+", 1)[0].split("~", 1)[0]
    found: list[int] = []
    for part in head.split("."):
        if not (part.isascii() and part.isdigit() and len(part) < 10):
            break
        found.append(int(part))
    return tuple(found)


def offer(system: str) -> Offer | None:
    """Return what an operating system offers ("ubuntu 24.04", "rocky 9.5"); None for one that qops does not know."""
    name, _, release = system.partition(" ")
    if name in EL:
        return OFFERS.get(f"el {release.partition('.')[0]}")
    return OFFERS.get(system)
