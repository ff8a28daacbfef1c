"""Whether a host needs a reboot, why, and what a reboot would interrupt."""

from qops.data import systems
from qops.evidence.boot import BootLoader
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.kernel import KernelCommandLine
from qops.evidence.readiness import Standing
from qops.pattern import lazy

# What boot loaders add for themselves, and differs without meaning anything.
_OWN = lazy(r"(?:BOOT_IMAGE|initrd|root|rootflags|ro|rw|resume|crashkernel|systemd\.[a-z_]+|\$\S*)(?:=|$)")
# Programs of a desktop: they draw on a GPU, and come back with it.
_DESKTOP = lazy(r"Xorg|Xwayland|gnome|kwin|plasma|mutter|sddm|lightdm|nvidia-persistenced|nv-fabricmanager")


def newer_kernel(standing: Standing) -> str:
    """Return the newest installed kernel of the running one's flavour, when another one runs; "" otherwise."""
    if not standing.running:
        return ""
    flavour = systems.kernel(standing.running)[0]
    same = [kernel for kernel in standing.kernels if systems.kernel(kernel)[0] == flavour]
    # Where the running one is not among them (it was removed, or this is a container), the newest says nothing.
    return same[0] if standing.running in same and same[0] != standing.running else ""


def options_due(command_line: KernelCommandLine | None, boot: BootLoader | None) -> tuple[str, ...]:
    """Return the kernel options that the next boot adds (`+a=b`) and leaves out (`-c`)."""
    if command_line is None or boot is None or boot.next is None:
        return ()
    now, upcoming = (
        [option for option in options if not _OWN.match(option)] for options in (command_line.options, boot.next)
    )
    return (*(f"+{o}" for o in upcoming if o not in now), *(f"-{o}" for o in now if o not in upcoming))


def reasons(
    standing: Standing | None,
    command_line: KernelCommandLine | None,
    boot: BootLoader | None,
    module: DriverModule | None = None,
    setup: DriverSetup | None = None,
) -> tuple[str, ...]:
    """Return why the host should be rebooted; () when nothing says so."""
    found = []
    if standing is not None:
        if newer := newer_kernel(standing):
            found.append(f"kernel {newer} is installed and {standing.running} runs")
        if standing.required is not None:
            packages = ", ".join(standing.required)
            found.append("packages ask for it" + (f" ({packages})" if packages else ""))
    if due := options_due(command_line, boot):
        found.append(f"the next boot has other kernel options ({' '.join(due)})")
    if module is not None and setup is not None and setup.disk_version not in ("", module.version):
        found.append(f"driver {setup.disk_version} is installed and {module.version} is loaded")
    return tuple(found)


def busy(standing: Standing | None, gpus: Gpus | None, module: DriverModule | None) -> tuple[str, ...]:
    """Return what a reboot would interrupt. What could not be seen counts: nothing is stopped on a guess."""
    found = [f"{unit} is active" for unit in standing.serving] if standing else ["no list of services was seen"]
    if gpus is not None and gpus.processes is not None:
        for one in gpus.processes:
            if not _DESKTOP.search(one.name):
                found.append(f"process {one.pid} ({one.name or 'of no name'}) uses GPU {one.gpu}")
    elif module is not None:  # without a module nobody uses a GPU
        found.append("nvidia-smi did not say which programs use the GPUs")
    return tuple(dict.fromkeys(found))
