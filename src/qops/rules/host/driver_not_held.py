"""HST072: an upgrade of everything else would take the driver along."""

import re
from collections.abc import Iterator

from qops.derive import driver_state
from qops.derive.driver_packages import installed
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.intent import Intent
from qops.evidence.packages import Packages
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST072",
    "driver-not-held",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "hold the driver's packages, and keep unattended upgrades away from them",
            commands=("apt-mark showhold", "ansible-playbook site.yml --tags nvidia_driver --limit HOST"),
            variable="nvidia_driver_hold",
            tag="nvidia_driver",
        ),
    ),
)
def driver_not_held(packages: Packages, setup: DriverSetup, intent: Intent | None) -> Iterator[Found | RuledOut]:
    """An upgrade of everything else would take the driver along, and end what uses the GPUs."""
    names = sorted(installed(packages))
    if packages.quote is None or not names or setup.dgx:
        return
    ours = intent is not None and "nvidia_driver" in intent.roles
    if intent is not None and intent.settings.get(driver_state.HOLD) == "leave":
        yield RuledOut("the inventory says that the driver is not held", (packages.quote,))
        return
    loose = [n for n in names if not packages.packages[n].held]
    exposed = [n for n in loose if _upgraded_unattended(n, setup)]
    if not loose:
        yield RuledOut(f"all {len(names)} packages of the driver are held", (packages.quote,))
    elif exposed or ours:
        what = exposed or loose
        named = ", ".join(what[:5]) + (f" and {len(what) - 5} more" if len(what) > 5 else "")
        how = "unattended upgrades may replace" if exposed else "the next upgrade may replace"
        yield Found(
            subject="driver",
            message=f"{how} {named}: not held",
            evidence=(packages.quote,),
            confidence=Confidence.CERTAIN,
        )


def _upgraded_unattended(name: str, setup: DriverSetup) -> bool:
    """Return whether unattended-upgrades may take a package; its patterns match from a name's beginning."""
    if setup.kept_from_upgrades is None:
        return False
    for pattern in setup.kept_from_upgrades:
        try:
            if re.match(pattern, name):
                return False
        except re.error:
            continue
    return True
