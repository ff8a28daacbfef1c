"""What stands against changing PCIe routing on a host, and the options with which the driver's modules load."""

from collections.abc import Sequence

from qops.evidence.boot import ModuleOption, PcieControl
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# Programs that run virtual machines, by the names that the kernel keeps of them (15 characters).
# QOPS_ROOT shows another machine's /sys in place of this one's.
SCRIPT = r"""R=${QOPS_ROOT:-}; [ -d "$R/sys/bus/pci" ] || R=
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
echo '== pcie control'
command -v setpci >/dev/null && echo 'setpci yes'
for d in "$R"/sys/bus/pci/drivers/vfio-pci/*:*; do [ -e "$d" ] && echo "vfio ${d##*/}"; done
for p in /proc/[0-9]*/comm; do
  read -r c 2>/dev/null <"$p" || continue
  case $c in qemu-*|kvm|cloud-hyperviso|firecracker|VBoxHeadless|vmware-vmx|crosvm) echo "machine $c" ;; esac
done
f=$R/sys/module/nvidia_uvm/parameters/uvm_disable_hmm
[ -r "$f" ] && echo "hmm-disabled $(cat "$f")"
grep -sH '^[[:space:]]*options[[:space:]]\{1,\}nvidia' /usr/lib/modprobe.d/*.conf /etc/modprobe.d/*.conf |
  sed 's/^/option /'
true
"""

_HEADER = "== pcie control"
_LINE = lazy(r"option (/[^:]{1,200}):\s*options\s+(nvidia[\w-]{0,40})\s+(.{1,2000})$")
_OPTION = lazy(r"(\w{1,80})=(\"[^\"]*\"|\S+)")


def recognise(text: Text) -> bool:
    """Return whether `text` is this probe's answer."""
    return any(line.startswith(_HEADER) for line in text.lines)


def parse(texts: Sequence[Text]) -> PcieControl | None:
    """Return what the first such answer says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.startswith(_HEADER):
                return _read(text.lines[index + 1 :], text.quote(index))
    return None


def _read(lines: Sequence[str], quote: Quote) -> PcieControl:
    setpci, hmm = False, None
    vfio: dict[str, None] = {}
    machines: dict[str, None] = {}
    options: list[ModuleOption] = []
    for line in lines:
        if line.startswith("=="):
            break
        word, _, rest = line.partition(" ")
        if word == "setpci":
            setpci = True
        elif word == "vfio":
            vfio[rest.strip()] = None
        elif word == "machine":
            machines[rest.strip()] = None
        elif word == "hmm-disabled":
            hmm = rest.strip() not in ("Y", "1")
        elif found := _LINE.match(line):
            given = {name: value.strip('"') for name, value in _OPTION.findall(found[3])}
            options.append(ModuleOption(found[1], found[2].replace("-", "_"), given))
    return PcieControl(quote, setpci, tuple(vfio), tuple(machines), hmm, tuple(options))


PROBE = Probe(
    name="pcie_control",
    makes=PcieControl,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "virtual machines that PCIe isolation protects, and the options of the driver's modules",
            root=True,
            name="pcie control",
        ),
    ),
    families=("host", "nccl"),
)
