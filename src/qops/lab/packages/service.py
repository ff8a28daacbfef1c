"""Services of a lab: containers beside the hosts, that hold no state and can be made anew at any time."""

import hashlib
import io
import ipaddress
import json
import socket
import tarfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from qops.lab import network
from qops.lab.docker import LABEL, SPEC, Docker, labels
from qops.lab.errors import LabError
from qops.lab.place import Place

SERVICE = f"{LABEL}.service"
OFFERS = "/etc/qops-lab/offers"  # in a service: what there is to pull, a line each
ANSWER_S = 15  # both answer within half a second here
DOMAIN = "lab.internal"  # ICANN keeps .internal for networks like this one


@dataclass(frozen=True, slots=True)
class Status:
    """One service as it stands."""

    name: str
    status: str
    address: str
    url: str
    offers: tuple[str, ...]  # images of the registry, each with its digest


@dataclass(frozen=True, slots=True)
class Service:
    """One service as it should be."""

    name: str
    image: str
    command: tuple[str, ...]
    url: str
    port: int
    offset: int  # of its address in the lab's network, below the hosts' (network.FIRST_HOST)

    @property
    def alias(self) -> str:
        """The name under which hosts reach it."""
        return f"{self.name}.{DOMAIN}"


def container(place: Place, service: str) -> str:
    """Return the name of a service's container."""
    return f"qops-{place.name}-{service}"


def current(docker: Docker, place: Place, service: Service, spec: str, subnet: str) -> bool:
    """Tell whether the service runs as it should; starts it if that is all that it lacks."""
    found = _inspect(docker, container(place, service.name))
    if found is None or found["Config"]["Labels"].get(SPEC) != spec or found["State"]["Status"] == "created":
        return False
    attached = found["NetworkSettings"]["Networks"].get(network.name(place)) or {}
    if (attached.get("IPAMConfig") or {}).get("IPv4Address") != address(service, subnet):
        return False
    if not found["State"]["Running"]:
        done = docker.call("start", container(place, service.name), check=False)
        if done.returncode != 0:
            return False
    return _answers(service, subnet)


def create(docker: Docker, place: Place, service: Service, spec: str, subnet: str) -> str:
    """Make the service's container anew, to be filled and started; return its name."""
    name = container(place, service.name)
    discard(docker, place, service.name)
    docker.call(
        "create", "--name", name, "--hostname", service.name, *labels(lab=place.name, service=service.name, spec=spec),
        "--label", f"{SERVICE}.url={service.url}",
        "--network", network.name(place), "--ip", address(service, subnet), "--network-alias", service.alias,
        service.image, *service.command,
    )  # fmt: skip
    return name


def fill(docker: Docker, name: str, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> None:
    """Put files and links into a container, by absolute path."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
        for path, target in sorted((links or {}).items()):
            member = tarfile.TarInfo(path.lstrip("/"))
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    docker.call("cp", "-", f"{name}:/", stdin=buffer.getvalue())


def read(docker: Docker, name: str, path: str) -> bytes:
    """Return one file of a container, running or not."""
    with tarfile.open(fileobj=io.BytesIO(docker.call("cp", f"{name}:{path}", "-").stdout)) as archive:
        member = archive.extractfile(archive.getmembers()[0])
        return member.read() if member else b""


def start(docker: Docker, place: Place, service: Service, subnet: str) -> None:
    """Start a service, for good: it comes back with the daemon. Returns when it answers."""
    name = container(place, service.name)
    docker.call("update", "--restart", "unless-stopped", name)
    docker.call("start", name)
    if not _answers(service, subnet):
        raise LabError(f"{name} does not answer within {ANSWER_S} s", f"docker logs {name}")


def _answers(service: Service, subnet: str) -> bool:
    deadline = time.monotonic() + ANSWER_S
    while time.monotonic() < deadline:
        try:
            socket.create_connection((address(service, subnet), service.port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return True
    return False


def discard(docker: Docker, place: Place, service: str) -> None:
    """Remove a service's container, whatever state it is in."""
    name = container(place, service)
    if docker.refuse_foreign("container", name, place.name):
        mine = ("--filter", f"label={LABEL}={place.name}", "--filter", f"name=^/{name}$")
        network.until_gone(docker, ("ps", "-aq", *mine), ("rm", "-f", "-v"))


def statuses(docker: Docker, place: Place) -> tuple[Status, ...]:
    """Return the lab's services as they stand."""
    filters = ("--filter", f"label={LABEL}={place.name}", "--filter", f"label={SERVICE}")
    found = []
    for identity in docker.lines("ps", "-aq", *filters):
        one = _inspect(docker, identity)
        if one is not None:
            label = one["Config"]["Labels"]
            attached: dict[str, Any] = next(iter((one["NetworkSettings"]["Networks"] or {}).values()), {})
            where = (attached.get("IPAMConfig") or {}).get("IPv4Address") or ""
            status = "half built" if one["State"]["Status"] == "created" else one["State"]["Status"]
            found.append(Status(label[SERVICE], status, where, label.get(f"{SERVICE}.url", ""), _offers(docker, one)))
    return tuple(sorted(found, key=lambda one: one.name))


def _offers(docker: Docker, one: Mapping[str, Any]) -> tuple[str, ...]:
    done = docker.call("cp", f"{one['Id']}:{OFFERS}", "-", check=False)
    if done.returncode != 0:
        return ()
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        member = archive.extractfile(archive.getmembers()[0])
        return tuple(member.read().decode().split()) if member else ()


def address(service: Service, subnet: str) -> str:
    """Return the service's fixed address."""
    return str(ipaddress.ip_network(subnet).network_address + service.offset)


def digest(*parts: object) -> str:
    """Return what tells whether a container is as it should be."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def file_digest(files: Iterable[tuple[str, bytes]]) -> str:
    """Return a digest of files."""
    return digest([(path, hashlib.sha256(content).hexdigest()) for path, content in sorted(files)])


def _inspect(docker: Docker, name: str) -> dict[str, Any] | None:
    done = docker.call("inspect", "--type", "container", name, check=False)
    if done.returncode != 0:
        return None
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found[0] if found else None
