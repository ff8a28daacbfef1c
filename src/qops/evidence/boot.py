"""How a host will be booted, and what it lets be done to PCIe and to the driver's options."""

from msgspec import Struct

from qops.evidence.text import Quote


class BootSetting(Struct, frozen=True):
    """A line of GRUB's own configuration that adds kernel options."""

    file: str
    options: tuple[str, ...]


class BootLoader(Struct, frozen=True):
    """Who writes the boot loader's configuration, and what the next boot will be told.

    `tool` is "update-grub", "grubby" or "" for neither. `next` is None where nothing says what comes next.
    """

    tool: str
    quote: Quote
    next: tuple[str, ...] | None = None
    settings: tuple[BootSetting, ...] = ()
    vendor: bool = False  # DGX OS: the vendor's image owns the options

    def value(self, name: str) -> str | None:
        """Return the last value of `name` at the next boot; "" for a bare option; None when absent or not known."""
        found: str | None = None
        for option in self.next or ():
            key, _, value = option.partition("=")
            if key == name:
                found = value
        return found


class ModuleOption(Struct, frozen=True):
    """One `options` line of modprobe.d for one of the driver's modules."""

    file: str
    module: str
    options: dict[str, str]


class PcieControl(Struct, frozen=True):
    """What stands against changing PCIe routing, and how the driver's modules are told to load.

    `hmm` is whether nvidia_uvm was loaded with heterogeneous memory management on; None: the module is not loaded.
    """

    quote: Quote
    setpci: bool = False
    vfio: tuple[str, ...] = ()  # functions that belong to vfio-pci
    machines: tuple[str, ...] = ()  # programs that run virtual machines
    hmm: bool | None = None
    options: tuple[ModuleOption, ...] = ()

    def chosen(self, module: str, name: str, *, outside: str = "") -> ModuleOption | None:
        """Return the last line that sets an option of a module, in files other than `outside`."""
        lines = [o for o in self.options if o.module == module and name in o.options and o.file != outside]
        return lines[-1] if lines else None
