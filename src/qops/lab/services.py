"""What a lab offers its hosts beside them: package repositories and an image registry."""

from collections.abc import Sequence

from qops.lab import scenario
from qops.lab.docker import Docker
from qops.lab.host import Plan
from qops.lab.images import Base
from qops.lab.packages import extras
from qops.lab.packages import server as packages
from qops.lab.place import Place, Say
from qops.lab.registry import server as registry
from qops.lab.sim import faults


def up(docker: Docker, place: Place, plans: Sequence[Plan], subnet: str, say: Say) -> None:
    """Bring up what the hosts ask for; leaves alone what is up. What cannot be had here is said, and left out."""
    bases = _bases(plans)
    for base in bases:
        if not extras.present(docker, base):
            extras.make(docker, place, base, say)
    if bases:
        extras.remove_old(docker)
    kernels = _kernels(plans)
    for base in bases:
        if any(one.host.packages and one.base == base for one in plans):
            packages.up(docker, place, base, kernels, subnet, say)
    if any(one.host.registry for one in plans):
        # Any base's will do, so the one that is up stays, and the digests of its images with it.
        others = tuple(Base(name) for name in scenario.BASES if Base(name) not in bases)
        usable = tuple(base for base in (*bases, *others) if extras.present(docker, base))
        if usable:
            registry.up(docker, place, usable, subnet, say)
        else:
            say("no image registry: it comes from Debian's mirror, which cannot be had")


def _bases(plans: Sequence[Plan]) -> tuple[Base, ...]:
    return tuple(dict.fromkeys(one.base for one in plans if one.host.packages or one.host.registry))


def _kernels(plans: Sequence[Plan]) -> tuple[str, ...]:
    """Return the kernels that hosts run, and those that an upgrade without a module brings."""
    known = (*(scenario.load(name) for name in scenario.names()), *(one.scenario for one in plans))
    regular = {str(one.hardware.get("kernel", "")) for one in known} - {""}
    upgrade = faults.Faults({faults.NO_MODULE: {}}, 0.0)
    return tuple(sorted(regular | {faults.kernel(upgrade, one) for one in regular}))
