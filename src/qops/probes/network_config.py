"""Who configures a host's network, and the files that qops keeps there for RDMA."""

from collections.abc import Sequence

from msgspec import Struct, field

from qops.evidence.network import NetworkConfig, NetworkFile
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# netplan comes first where it is there: it writes what NetworkManager or networkd then read. A networkd that does not
# run comes last; it touches no interface that no file of its own names.
SCRIPT = r"""R=${QOPS_ROOT:-}; [ -d "$R/sys/class/net" ] || R=
PATH=$PATH:/usr/sbin:/sbin
echo '== network config'
command -v netplan >/dev/null && [ -d /etc/netplan ] && echo 'manager netplan'
running=$(systemctl is-active NetworkManager systemd-networkd 2>/dev/null | tr '\n' ' ')
case $running in 'active '*) echo 'manager NetworkManager'; echo 'running NetworkManager' ;; esac
case $running in *' active ') echo 'manager systemd-networkd'; echo 'running systemd-networkd' ;; esac
for f in /usr/lib/systemd/systemd-networkd /lib/systemd/systemd-networkd; do
  [ -x $f ] && echo 'manager systemd-networkd' && break
done
for i in "$R"/sys/class/net/*/wireless; do [ -e "$i" ] && i=${i%/wireless} && echo "wireless ${i##*/}"; done
ip -4 route show default 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/default \1/p'
for f in /etc/netplan/40-cx7.yaml /etc/systemd/network/40-qops-*.network \
  /etc/NetworkManager/system-connections/qops-*.nmconnection; do
  [ -r "$f" ] && echo "file $f" && sed 's/^/| /' "$f"
done
[ -r /etc/qops/rdma-network.conf ] && sed -n 's/^\([a-z]\)/conf \1/p' /etc/qops/rdma-network.conf
[ -r /run/qops/nccl-rdma.env ] && echo 'environment' && sed -n 's/^\([A-Z]\)/env \1/p' /run/qops/nccl-rdma.env
true
"""

MARK = "qops, role rdma_network"  # in the first lines of each file that the role writes
_HEADER = "== network config"
_INTERFACE = lazy(r"\|     ([\w.@-]{1,32}):\s*$|\| (?:Name|interface-name)=([\w.@-]{1,32})\s*$")
_ADDRESS = lazy(r"\| .{0,20}?([0-9]{1,3}(?:\.[0-9]{1,3}){3}/[0-9]{1,2})")


def recognise(text: Text) -> bool:
    """Return whether `text` is this probe's answer."""
    return any(line.startswith(_HEADER) for line in text.lines)


def parse(texts: Sequence[Text]) -> NetworkConfig | None:
    """Return what the first such answer says."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.startswith(_HEADER):
                return _read(text.lines[index + 1 :], text.quote(index))
    return None


class _File(Struct):
    path: str
    ours: bool = False
    interface: str = ""
    addresses: dict[str, str] = field(default_factory=dict)

    def line(self, line: str) -> None:
        """Take one line of the file: `| ` and the line."""
        self.ours = self.ours or MARK in line
        if found := _INTERFACE.match(line):
            self.interface = found[1] or found[2]
        elif self.interface and (found := _ADDRESS.match(line)):
            self.addresses.setdefault(self.interface, found[1])


def _read(lines: Sequence[str], quote: Quote) -> NetworkConfig:
    said: dict[str, dict[str, None]] = {name: {} for name in ("manager", "running", "default", "wireless")}
    conf: dict[str, str] = {}
    environment: dict[str, str] | None = None
    files: list[_File] = []
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "|":
            if files:
                files[-1].line(line)
        elif word in said:
            said[word][rest.strip()] = None
        elif word == "file":
            files.append(_File(rest.strip()))
        elif word in ("conf", "env"):
            name, _, value = rest.partition("=")
            if word == "conf":
                conf[name] = value.strip()
            else:
                environment = {**(environment or {}), name: value.strip()}
        elif word == "environment":
            environment = environment or {}
        elif line.startswith("=="):
            break
    return NetworkConfig(
        quote,
        tuple(said["manager"]),
        tuple(said["running"]),
        tuple(NetworkFile(f.path, f.ours, f.addresses) for f in files),
        tuple(said["default"]),
        tuple(said["wireless"]),
        conf,
        environment,
    )


PROBE = Probe(
    name="network_config",
    makes=NetworkConfig,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "who configures the network, and what was set up for RDMA",
            root=True,
            name="network config",
        ),
    ),
    families=("nccl",),
)
