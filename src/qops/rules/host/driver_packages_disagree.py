"""HST070: the driver's packages are half installed, or of different versions."""

from collections.abc import Iterator

from qops.derive import driver_state
from qops.derive.driver_packages import installed
from qops.evidence.packages import Packages
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "HST070",
    "driver-packages-disagree",
    explains=("nvml-failed", "no-visible-gpu", "cuda-error", "driver-library-version-mismatch"),
    fix=(
        Fix(
            "finish what the package manager was interrupted at, and bring all of them to one version",
            commands=("dpkg --audit", "ansible-playbook site.yml --tags nvidia_driver --limit HOST"),
            risk="programs that use the GPUs are stopped if the driver has to be loaded anew",
            variable="nvidia_driver_version",
            tag="nvidia_driver",
        ),
        Fix(
            "go back to the last good driver, whose packages are kept on the host",
            kind="workaround",
            commands=("ansible-playbook playbooks/rollback.yml --limit HOST",),
            variable="nvidia_driver_version",
            tag="nvidia_driver",
        ),
    ),
)
def driver_packages_disagree(packages: Packages) -> Iterator[Found | RuledOut]:
    """The driver's packages are half installed, or of different versions."""
    if packages.quote is None:
        return
    half, other = driver_state.not_whole(packages), driver_state.of_other_version(packages)
    version = driver_state.installed_version(packages)
    if half:
        yield Found(
            subject="driver",
            message=f"packages of the driver are half installed: {', '.join(half)}",
            evidence=(packages.quote,),
            confidence=Confidence.CERTAIN,
        )
    if other:
        named = ", ".join(f"{name} {installed(packages)[name]}" for name in other)
        yield Found(
            subject="driver",
            message=f"the driver is {version}, and these of its packages are not: {named}",
            evidence=(packages.quote,),
            confidence=Confidence.CERTAIN,
        )
    if version and not half and not other:
        yield RuledOut(f"all packages of the driver are {version}", (packages.quote,))
