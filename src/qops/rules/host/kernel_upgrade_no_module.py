"""HST003: the running kernel has no NVIDIA module."""

from collections.abc import Iterator

from qops.data.messages import kernel, system
from qops.evidence.kernel import Modules, System
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "HST003",
    "kernel-upgrade-no-module",
    explains=("nvml-failed", "no-visible-gpu", "cuda-error", "driver-too-old-for-image"),
    fix=(
        Fix(
            "install the headers of the running kernel and build the module for it, or install the prebuilt package",
            commands=("uname -r", "dkms status", 'ls "/lib/modules/$(uname -r)/build"'),
            variable="nvidia_driver_version",
            tag="nvidia_driver",
        ),
        Fix("boot the former kernel, for which a module is there", kind="workaround", needs_reboot=True),
    ),
)
def kernel_upgrade_no_module(logs: Logs, modules: Modules | None, machine: System | None) -> Iterator[Found | RuledOut]:
    """The running kernel has no NVIDIA module."""
    refused, absent = logs.find(system.DRIVER_UNREACHABLE), logs.find(kernel.MODULE_NOT_FOUND)
    broken = logs.find(kernel.MODULE_BUILD_FAILED)
    loaded = bool(modules and "nvidia" in modules.loaded)
    if loaded or not (refused or absent or broken):
        return
    rejected = logs.find(kernel.KEY_REJECTED)
    if rejected:
        yield RuledOut("a module is there, and the kernel refuses its signature", quotes(rejected, 1))
        return
    said = logs.first(kernel.RUNNING_KERNEL)
    running = machine.kernel if machine and machine.kernel else said.groups["kernel"] if said else ""
    built = [h for h in logs.find(kernel.DKMS_STATUS) if h.groups["state"] == "installed"]
    files = (*logs.find(kernel.MODULE_ON_DISK), *built)
    known = {h.groups["kernel"] for h in files} | set((modules.nvidia_for or ()) if modules else ())
    if running and running in known and not absent:
        yield RuledOut(f"a module for the running kernel {running} is there", quotes(files, 1))
    elif absent or broken or (running and known):
        others = ", ".join(sorted(known - {running}))
        yield Found(
            subject=f"kernel {running}" if running else "kernel",
            message="no NVIDIA module for the running kernel"
            + (f" {running}" if running else "")
            + (f"; there is one for {others}" if others else "")
            + (", and the build for it failed" if broken else ""),
            evidence=(
                *quotes(absent or refused, 2),
                *quotes(broken, 1),
                *((said.quote,) if said else ()),
                *quotes(files, 2),
            ),
            confidence=Confidence.CERTAIN if running and known else Confidence.LIKELY,
        )
