"""What a host's PCIe should be told so that GPUs reach each other: kernel options and redirecting bridges.

Nothing here is a default: each has its price, so the inventory asks for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from qops.derive import platform
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.evidence.kernel import Iommu, KernelCommandLine, KernelLog, System
from qops.evidence.pcie import PcieDevice, PcieTree

# Request and completion redirect in the ACS control register (PCIe base specification 7.7.11.3; Linux'
# pci=disable_acs_redir clears these two and egress control). Upstream forwarding (0x10) only passes on what a port
# below has redirected already, so it stays.
REDIRECT_MASK = 0x000C
# Options that say the opposite of one another to the kernel: those of the same line exclude each other.
_VENDORS = {"AuthenticAMD": "amd_iommu", "GenuineIntel": "intel_iommu"}


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge between GPUs that has access control. `redirects` are the bits that send peer traffic up."""

    address: str
    name: str
    redirects: tuple[str, ...]

    def __str__(self) -> str:
        what = " and ".join(self.redirects) if self.redirects else "redirects nothing"
        return f"{self.address} {self.name}: {what}"


def no_peers(hardware: HardwareClass, gpus: int, nvswitch: bool) -> str:
    """Return why PCIe carries nothing between the GPUs of a host, or ""."""
    if hardware is HardwareClass.SPARK:
        return "a Spark has one GPU, on the same chip as its CPUs: there is no peer on PCIe"
    if hardware is HardwareClass.HGX and nvswitch:
        return "the GPUs talk over NVLink and NVSwitch, which neither the IOMMU nor a bridge touches"
    if gpus < 2:
        return "with one GPU there is no peer" if gpus else "no GPU was seen on PCI"
    return ""


def iommu(
    hardware: HardwareClass,
    system: System | None,
    at_work: Iommu | None,
    command_line: KernelCommandLine | None,
    kernel: KernelLog | None,
    *,
    why_not: str,
) -> Derived[str]:
    """Return the IOMMU mode that serves P2P: "pt", or "" to leave what is there. `why_not` is from `no_peers`."""
    if why_not:
        return Derived("", why_not)
    if system is not None and system.hypervisor:
        return Derived("", f"in a virtual machine ({system.hypervisor}) the hypervisor's tables decide")
    if platform.iommu_off(command_line, at_work):
        return Derived("", "no IOMMU is at work, so nothing translates what GPUs send each other")
    passing = at_work is not None and set(at_work.group_types) == {"identity"}
    running = command_line is not None and command_line.value("iommu") == "pt"
    if (passing or not platform.translation(at_work, command_line, kernel)) and not running:
        return Derived("", "the IOMMU passes addresses through by itself")
    return Derived("pt", "with translation each packet between GPUs goes up to the IOMMU, and on some boards is lost")


def iommu_options(mode: str, vendor: str) -> dict[str, str]:
    """Return the kernel options of an IOMMU mode ("pt" or "off"); kernel-parameters.txt of Linux.

    `vendor` is the processor's, as lscpu names it; off takes the vendor's own option as well.
    """
    options = {"iommu": mode}
    if mode == "off" and vendor in _VENDORS:
        options[_VENDORS[vendor]] = "off"
    return options


def contradiction(name: str, value: str, present: Mapping[str, str]) -> str:
    """Return the option among `present` that says the opposite of `name=value`, or "".

    The kernel does not take the last of several iommu= options but all of them.
    """
    for other, said in present.items():
        if other == name and said != value:
            return f"{other}={said}"
        if name == "iommu" and value == "pt" and other in _VENDORS.values() and said == "off":
            return f"{other}={said}"
    return ""


def bridges(tree: PcieTree) -> tuple[Bridge, ...]:
    """Return the bridges with access control that lie between any two GPUs: not those above both of a pair.

    What is above both of two GPUs of one switch does not see their traffic; for GPUs of two root ports all of both
    ways counts.
    """
    between: dict[str, PcieDevice] = {}
    for a, b in combinations(tree.gpus, 2):
        ways = [{d.address: d for d in tree.above(gpu)} for gpu in (a, b)]
        for address in set(ways[0]) ^ set(ways[1]):
            between[address] = ways[0].get(address) or ways[1][address]
    return tuple(
        Bridge(d.address, d.name, tuple(bit for bit in d.acs if bit in platform.REDIRECT))
        for _, d in sorted(between.items())
        if d.acs_quote is not None
    )


def acs_seen(tree: PcieTree) -> bool:
    """Return whether access control could be read at all: lspci shows it to root alone."""
    return any(d.acs_quote is not None for d in tree.devices)
