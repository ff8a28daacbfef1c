"""The options that the running kernel was started with."""

from collections.abc import Sequence

from qops.errors import ParseError
from qops.evidence.kernel import KernelCommandLine
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Probe, Read

# `/proc/cmdline` starts with BOOT_IMAGE= (GRUB), initrd= (systemd-boot) or root=; the kernel log repeats it.
_LINE = lazy(r"(?:(?:Kernel c|C)ommand line: |^\s*)((?:BOOT_IMAGE=|initrd=|root=(?:\w*UUID=|LABEL=|/dev/|ZFS=))\S.*)$")
_OPTION = lazy(r"\"[^\"]*\"|[^\s\"]+(?:\"[^\"]*\"[^\s\"]*)*|\S")
_CONTINUED = lazy(r"\s*[a-z][\w.\-]*(?:=\S+)?(?:\s+[a-z][\w.\-]*(?:=\S+)?)*\s*")

# A cut-out of one: options and nothing else, several of them known (kernel documentation, kernel-parameters.txt).
_WORD = lazy(r"[a-z][\w.\-]{1,60}(?:=\S{1,200})?")
_KNOWN = lazy(
    r"(?:console|earlyprintk|iommu|intel_iommu|amd_iommu|pci|pcie_aspm|pcie_port_pm|pcie_acs_override|root|rootflags|crashkernel"
    r"|mitigations|cgroup_enable|swapaccount|security|apparmor|hugepages|hugepagesz|isolcpus|net\.ifnames|rd\.\w+|init_on_alloc"
    r"|systemd\.\w+|module_blacklist|modprobe\.blacklist|nvidia[\w.\-]*|vfio[\w.\-]*|numa_balancing)=|(?:ro|rw|quiet|splash"
    r"|nokaslr|nosmt|nomodeset)$"
)


def _options(line: str) -> str | None:
    """Return the kernel command line in `line`, or None."""
    if match := _LINE.search(line):
        return match[1]
    if "=" not in line or len(line) > 4000:
        return None
    words = line.strip().removeprefix("...").removeprefix("…").split()
    if len(words) < 3 or not all(_WORD.fullmatch(w) for w in words):
        return None
    return " ".join(words) if sum(bool(_KNOWN.match(w)) for w in words) > 2 else None


def recognise(text: Text) -> bool:
    """Return whether `text` holds a kernel command line."""
    return any("=" in line and _options(line) for line in text.lines)


def parse(texts: Sequence[Text]) -> KernelCommandLine | None:
    """Return the command line of the first text that has one; the answer of /proc/cmdline comes first."""
    for text in sorted(texts, key=lambda t: not t.probe):
        for index, line in enumerate(text.lines):
            whole = _options(line)
            if whole is None and not (text.probe == PROBE.name and line.strip()):
                continue
            whole = whole or line.strip()
            for more in text.lines[index + 1 : index + 4]:  # a paste may be wrapped
                if "=" not in more or not _CONTINUED.fullmatch(more[:4000]):
                    break
                whole += " " + more
            return KernelCommandLine(tuple(_OPTION.findall(whole)), text.quote(index))
    asked = next((t for t in texts if t.probe == PROBE.name), None)
    if asked is not None:
        raise ParseError(asked.source, 0, "the kernel command line is empty")
    return None


PROBE = Probe(
    name="kernel_cmdline",
    makes=KernelCommandLine,
    parse=parse,
    recognise=recognise,
    asks=(Read("/proc/cmdline", "how the kernel was started: IOMMU, PCI and memory options"),),
    literals=("command line: ", "BOOT_IMAGE="),
)
