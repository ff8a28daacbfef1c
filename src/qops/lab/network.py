"""The lab's own network, on which each host keeps its address over a reboot."""

import ipaddress
import json
import time
from collections.abc import Iterable

from qops.lab.docker import LABEL, Docker
from qops.lab.errors import LabError
from qops.lab.place import Place

FIRST_HOST = 10  # the addresses below are left to the bridge and to services of the lab


def name(place: Place) -> str:
    """Return the network's name."""
    return f"qops-{place.name}"


def ensure(docker: Docker, place: Place) -> tuple[str, bool]:
    """Make the network unless it is there; return its subnet, and whether it is new."""
    there = docker.refuse_foreign("network", name(place), place.name)
    if not there:
        # Fixed addresses need a subnet that is given by hand, and only the daemon knows which is free here:
        # let it choose one for a network that is thrown away.
        probe = f"{name(place)}-probe"
        if docker.refuse_foreign("network", probe, place.name):
            docker.call("network", "rm", probe)
        label = ("--label", f"{LABEL}={place.name}")
        docker.call("network", "create", *label, probe)
        subnet = _subnet(docker, probe)
        docker.call("network", "rm", probe)
        docker.call("network", "create", *label, "--subnet", subnet, name(place))
    return _subnet(docker, name(place)), not there


def addresses(subnet: str, hosts: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Return a free address for each host."""
    held = set(taken)
    free = (str(one) for one in list(ipaddress.ip_network(subnet).hosts())[FIRST_HOST - 1 :] if str(one) not in held)
    try:
        return {host: next(free) for host in hosts}
    except StopIteration:
        raise LabError(f"the lab's network {subnet} is full", "qops lab down") from None


def remove(docker: Docker, place: Place) -> None:
    """Remove every network of the lab. The daemon needs a moment to let go of the last container."""
    until_gone(docker, ("network", "ls", "-q", "--filter", f"label={LABEL}={place.name}"), ("network", "rm"))


def until_gone(docker: Docker, listing: tuple[str, ...], removing: tuple[str, ...], patience_s: float = 60) -> None:
    """Remove what is listed until nothing is; LabError with the daemon's reason after `patience_s`."""
    deadline = time.monotonic() + patience_s
    while left := docker.lines(*listing):
        done = docker.call(*removing, *left, check=False)
        if done.returncode != 0:
            if time.monotonic() > deadline:
                raise LabError(
                    f"cannot remove {', '.join(left)}: {done.stderr.decode(errors='replace').strip()}",
                    "docker info",
                )
            time.sleep(0.3)


def _subnet(docker: Docker, network: str) -> str:
    configured = json.loads(docker.text("network", "inspect", network))[0]["IPAM"]["Config"]
    for one in configured:
        if ipaddress.ip_network(one["Subnet"]).version == 4:
            return str(one["Subnet"])
    raise LabError(f"network {network} has no IPv4 subnet", "qops lab down, then qops lab up")
