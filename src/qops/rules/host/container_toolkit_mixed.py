"""HST123: the packages of the container toolkit do not belong together."""

from collections.abc import Iterator

from qops.data.container_toolkit import PACKAGES
from qops.evidence.packages import Packages
from qops.rule import Confidence, Fix, Found, Role, Severity, rule


@rule(
    "HST123",
    "container-toolkit-mixed",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "bring all four to one version",
            commands=("ansible-playbook site.yml --tags container_toolkit --limit HOST",),
            variable="container_toolkit_version",
            tag="container_toolkit",
        ),
    ),
)
def container_toolkit_mixed(packages: Packages) -> Iterator[Found]:
    """The packages of the container toolkit are at different versions, or not whole."""
    there = {name: packages.packages[name] for name in PACKAGES if name in packages.packages}
    if packages.quote is None or not any(package.whole for package in there.values()):
        return
    versions = {package.version for package in there.values() if package.whole}
    broken = [name for name, package in there.items() if not package.whole]
    if len(versions) == 1 and not broken:
        return
    told = ", ".join(f"{n} {p.version or 'removed'}{'' if p.whole else ' (not whole)'}" for n, p in there.items())
    yield Found(
        subject="container toolkit",
        message=f"its packages belong together and are {told}",
        evidence=(packages.quote,),
        confidence=Confidence.CERTAIN,
    )
