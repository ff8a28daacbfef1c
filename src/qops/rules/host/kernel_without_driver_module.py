"""HST071: a kernel is installed for which no NVIDIA module was built."""

from collections.abc import Iterator

from qops.derive import driver_state
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.packages import Packages
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST071",
    "kernel-without-driver-module",
    severity=Severity.WARNING,
    role=Role.CONTRIBUTING,
    fix=(
        Fix(
            "install the headers of that kernel and build the module, or remove the kernel",
            commands=("dkms status", "dkms autoinstall -k KERNEL"),
            variable="nvidia_driver_manage",
            tag="nvidia_driver",
        ),
    ),
)
def kernel_without_driver_module(setup: DriverSetup, packages: Packages | None) -> Iterator[Found | RuledOut]:
    """A kernel is installed for which no NVIDIA module was built: after a boot into it there are no GPUs."""
    there = bool(setup.kernels_with_module) or bool(packages and driver_state.installed_version(packages))
    if setup.quote is None or not there:
        return
    # A module that is loaded came from somewhere, be it an initramfs or a host that shows this one no /lib/modules.
    loaded = setup.kernel if "nvidia" in setup.loaded else ""
    missing = tuple(kernel for kernel in driver_state.without_module(setup) if kernel != loaded)
    if not missing:
        yield RuledOut(f"there is a module for {', '.join(setup.kernels)}", (setup.quote,))
        return
    running = " (the running one)" if setup.kernel in missing else ""
    yield Found(
        subject=f"kernel {missing[0]}",
        message=f"there is no NVIDIA module for {', '.join(missing)}{running}: without it a boot into that kernel "
        "leaves the host without GPUs",
        evidence=(setup.quote,),
        confidence=Confidence.CERTAIN,
    )
