"""How the NVIDIA driver is set up on a host: what it is built for, what keeps it, and what it was told."""

from msgspec import Struct, field

from qops.evidence.text import Quote


class ModuleOption(Struct, frozen=True):
    """An option of the module `nvidia` in /etc/modprobe.d. It takes effect when the module is loaded."""

    name: str  # without NVreg_, as in /proc/driver/nvidia/params
    value: str
    quote: Quote


class AptPin(Struct, frozen=True):
    """A stanza of apt's preferences that names NVIDIA's packages."""

    file: str
    packages: str
    pin: str
    priority: str


class DriverSetup(Struct, frozen=True):
    """What decides whether the driver works after the next boot, and who may change it."""

    kernel: str = ""  # the running one
    kernels: tuple[str, ...] = ()  # installed, the running one among them
    kernels_with_module: tuple[str, ...] = ()  # of those, for which an NVIDIA module lies on disk
    loaded: tuple[str, ...] = ()  # NVIDIA's modules and nouveau, as far as they are loaded
    dgx: str = ""  # "DGX Spark 7.2.3" where the vendor's system is installed
    secure_boot: bool | None = None
    disk_version: str = ""  # of the module that lies on disk for the running kernel
    disk_license: str = ""  # "Dual MIT/GPL" for the open one, "NVIDIA"
    run_file: bool = False  # installed by the vendor's .run file, which packages know nothing of
    options: tuple[ModuleOption, ...] = ()
    pins: tuple[AptPin, ...] = ()
    kept_from_upgrades: tuple[str, ...] | None = None  # unattended-upgrades' blacklist; None: it is not installed
    units: dict[str, str] = field(default_factory=dict)  # unit to "active", "inactive", "failed", "absent"
    unit_quotes: dict[str, Quote] = field(default_factory=dict)
    stale_initramfs: tuple[str, ...] = ()  # older than what /etc/modprobe.d says
    unfinished: str = ""  # a change of the driver by qops that did not end
    quote: Quote | None = None
