"""Bringing a lab up and taking it down. Both work from any state that a killed run can leave."""

import contextlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from qops.errors import UsageError
from qops.lab import host, images, keys, network, planting, scenario, services
from qops.lab.docker import LABEL, Container, Docker
from qops.lab.engine import building, layer
from qops.lab.packages import service, signing
from qops.lab.place import Place, Say, locked
from qops.lab.scenario import Scenario

DEFAULT = "spark"  # what `up` brings when nothing is named and there is no lab yet
WORKERS = 8


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One host as it stands. `faults` is None where they cannot be read."""

    host: str
    scenario: str
    hardware_class: str
    status: str
    address: str
    faults: tuple[str, ...] | None


def up(place: Place, wanted: Sequence[str], say: Say) -> tuple[Container, ...]:
    """Bring the hosts of scenarios up and return them; without names, those of the lab that is there."""
    began = time.monotonic()
    Docker().require()
    with locked(place, say) as lock:
        docker = Docker((lock,))
        existing = docker.containers(place.name)
        sources = tuple(dict.fromkeys(wanted or [one.source for one in existing if one.source] or [DEFAULT]))
        scenarios = tuple(scenario.load(source) for source in sources)
        _refuse_clashes(scenarios, existing)
        images.clear_builds(place)
        images.clear_half_imported(docker, place)
        keys.ensure_pair(place.key, f"qops-{place.name}")
        plans = tuple(host.plan(place, one, each) for one in scenarios for each in one.hosts)
        for base in dict.fromkeys(planned.base for planned in plans):
            if not images.present(docker, base):
                images.make(docker, base, place, say)
        names = _raise_hosts(docker, place, plans, existing, say)
    say(f"{len(names)} {'host' if len(names) == 1 else 'hosts'} up after {time.monotonic() - began:.0f} s")
    return tuple(one for one in Docker().containers(place.name) if one.host in names)


def _refuse_clashes(scenarios: Sequence[Scenario], existing: Sequence[Container]) -> None:
    owner = {one.host: one.scenario for one in existing}
    for each in scenarios:
        for one in each.hosts:
            if owner.setdefault(one.name, each.name) != each.name:
                raise UsageError(
                    f"scenarios {owner[one.name]} and {each.name} both have a host {one.name}",
                    "qops lab down first, or another lab: QOPS_LAB=second qops lab up",
                )


def _raise_hosts(
    docker: Docker, place: Place, plans: Sequence[host.Plan], existing: Sequence[Container], say: Say
) -> frozenset[str]:
    subnet, fresh_network = network.ensure(docker, place)
    services.up(docker, place, plans, subnet, say)
    found = {one.host: one for one in existing}
    standing = {
        planned.host.name: not fresh_network and host.is_current(planned, found.get(planned.host.name))
        for planned in plans
    }
    for planned in plans:
        name = planned.host.name
        if name in found and not standing[name]:
            why = "it was half built" if found[name].half_built else "its scenario or qops has changed"
            say(f"{name}: made anew, since {why}")
    fresh = [planned.host.name for planned in plans if not standing[planned.host.name]]
    kept = {one.host: one.address for one in existing if one.host not in fresh}
    addresses = {**kept, **network.addresses(subnet, fresh, kept.values())}
    keys.write_known_hosts(place, addresses.items())

    def one_up(planned: host.Plan) -> None:
        name = planned.host.name
        container = host.container_name(place, name)
        began = time.monotonic()
        if not standing[name]:
            host.build(docker, place, planned, addresses[name])
        elif found[name].status != "running":
            host.start(docker, container)
        host.wait(docker, place, container, addresses[name], say)
        say(f"{name}: up at {addresses[name]} ({planned.scenario.name}, {time.monotonic() - began:.1f} s)")

    with ThreadPoolExecutor(WORKERS) as pool:
        # All first: the address that one gets may be another's until that one is gone.
        list(pool.map(lambda name: host.discard(docker, place, name), fresh))
        list(pool.map(one_up, plans))
    return frozenset(standing)


def down(place: Place, say: Say, *, with_images: bool = False) -> None:
    """Remove everything of the lab. The base images stay unless `with_images`: they take a minute each to make."""
    Docker().require()
    with locked(place, say) as lock:
        docker = Docker((lock,))
        containers = docker.containers(place.name)
        for one in containers:
            say(f"{one.host}: removing")
        if containers:
            with ThreadPoolExecutor(WORKERS) as pool:
                list(pool.map(lambda one: docker.call("rm", "-f", "-v", one.name, check=False), containers))
        mine = ("--filter", f"label={LABEL}={place.name}")
        network.until_gone(docker, ("ps", "-aq", *mine), ("rm", "-f", "-v"))
        network.until_gone(docker, ("volume", "ls", "-q", *mine), ("volume", "rm"))
        network.remove(docker, place)
        images.clear_half_imported(docker, place)
        images.clear_builds(place)
        building.clear_half_built(docker, place)
        kept = (*images.remove_all(docker), *layer.remove(docker)) if with_images else ()
        signing.forget(place)
        keys.forget(place)
        with contextlib.suppress(FileNotFoundError):
            place.lock.unlink()
        with contextlib.suppress(OSError):
            place.folder.rmdir()
    if kept:
        say(f"kept, since another lab uses them: {', '.join(kept)}")
    say(
        "nothing of the lab is left"
        + ("" if with_images and not kept else " but base images and the engine (qops lab down --images)")
    )


def status(place: Place) -> tuple[HostStatus, ...]:
    """Return the lab's hosts as they stand."""
    docker = Docker()
    docker.require()
    return tuple(_status(docker, one) for one in docker.containers(place.name))


def service_statuses(place: Place) -> tuple[service.Status, ...]:
    """Return the lab's services, which its hosts use, as they stand."""
    return service.statuses(Docker(), place)


def _status(docker: Docker, one: Container) -> HostStatus:
    shown = "half built" if one.half_built else one.status
    faults = None if one.half_built else planting.planted(docker, one)
    return HostStatus(one.host, one.scenario, one.hardware_class, shown, one.address, faults)


def containers(place: Place) -> tuple[Container, ...]:
    """Return the lab's containers, with the known hosts written for where they are now."""
    docker = Docker()
    docker.require()
    found = docker.containers(place.name)
    if found and place.key.exists():
        keys.write_known_hosts(place, ((one.host, one.address) for one in found))
    return found


def find(place: Place, name: str) -> Container:
    """Return a running host of the lab; UsageError if there is none of that name."""
    found = containers(place)
    for one in found:
        if one.host == name:
            if one.status != "running":
                raise UsageError(f"{name} is not running but {one.status}", "qops lab up")
            if not place.key.exists():
                raise UsageError(f"{place.key}, which opens {name}, is gone", "qops lab up makes the host anew")
            return one
    known = ", ".join(one.host for one in found)
    raise UsageError(f"the lab has no host {name}", f"its hosts: {known}" if known else "qops lab up")
