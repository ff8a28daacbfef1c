"""HST073: a change of the driver by qops did not come to its end."""

from collections.abc import Iterator

from qops.evidence.driver_setup import DriverSetup
from qops.rule import Confidence, Fix, Found, rule


@rule(
    "HST073",
    "driver-change-unfinished",
    explains=(
        "nvml-failed",
        "no-visible-gpu",
        "cuda-error",
        "driver-library-version-mismatch",
        "driver-packages-disagree",
        "kernel-upgrade-no-module",
    ),
    fix=(
        Fix(
            "run the role again: it finishes the change, or takes it back",
            commands=("ansible-playbook site.yml --tags nvidia_driver --limit HOST",),
            risk="programs that use the GPUs are stopped",
            variable="nvidia_driver_stop_clients",
            tag="nvidia_driver",
        ),
        Fix(
            "go back to the last good driver, whose packages are kept on the host",
            commands=("ansible-playbook playbooks/rollback.yml --limit HOST",),
            variable="nvidia_driver_version",
            tag="nvidia_driver",
        ),
    ),
)
def driver_change_unfinished(setup: DriverSetup) -> Iterator[Found]:
    """A change of the driver by qops did not come to its end."""
    if setup.unfinished and setup.quote:
        yield Found(
            subject="driver",
            message=f"a change of the driver did not come to its end: {setup.unfinished[:200]}",
            evidence=(setup.quote,),
            confidence=Confidence.CERTAIN,
        )
