"""RDMA ports: state, rate, link layer, PCI function and network interface of each."""

from collections.abc import Sequence

from qops.evidence.network import RdmaPort, RdmaPorts
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe

# One line for each port. The interface is the one whose device is the same PCI function; `speed` is in Mb/s and
# cannot be read while the link is down. QOPS_ROOT shows another machine's /sys in place of this one's.
SCRIPT = r"""R=${QOPS_ROOT:-}; [ -d "$R/sys/class/net" ] || R=
echo '== rdma ports'
for p in "$R"/sys/class/infiniband/*/ports/*; do
  [ -e "$p/state" ] || continue
  d=${p%/ports/*}
  at=$(readlink -f "$d/device")
  n=
  for i in "$at"/net/*; do [ -e "$i" ] && n=${i##*/} && break; done
  s=$(cat "$at/net/$n/speed" 2>/dev/null)
  echo "${d##*/} port=${p##*/} net=$n pci=${at##*/} numa=$(cat "$at/numa_node" 2>/dev/null) speed=$s" \
    "layer=$(cat "$p/link_layer") rate=$(cat "$p/rate") state=$(cat "$p/state")"
done 2>/dev/null
true
"""

_HEADER = "== rdma ports"
_PORT = lazy(
    r"([\w.-]{1,40}) port=([0-9]{1,3}) net=(\S{0,32}) pci=(\S{0,40}) numa=(-?[0-9]{0,4}) speed=(-?[0-9]{0,10})"
    r" layer=(\w{0,20}) rate=([0-9.]{0,8}).{0,40}? state=[0-9]{0,2}:? ?(\w{0,20})\s*$"
)


def recognise(text: Text) -> bool:
    """Return whether `text` is this probe's answer."""
    return any(line.startswith(_HEADER) for line in text.lines)


def parse(texts: Sequence[Text]) -> RdmaPorts | None:
    """Return the ports of the first such answer."""
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.startswith(_HEADER):
                return RdmaPorts(tuple(_ports(text, index + 1)), text.quote(index))
    return None


def _ports(text: Text, start: int) -> list[RdmaPort]:
    ports = []
    for index in range(start, len(text.lines)):
        found = _PORT.match(text.lines[index])
        if not found:
            break
        numa = int(found[5]) if found[5].strip("-") else -1
        speed = int(found[6]) if found[6].strip("-") else 0
        ports.append(
            RdmaPort(
                device=found[1],
                port=int(found[2]),
                quote=text.quote(index),
                interface=found[3],
                address=found[4],
                active=found[9] == "ACTIVE",
                rate=_number(found[8]),
                ethernet=found[7] == "Ethernet",
                numa=numa if numa >= 0 else None,
                # The kernel says 4294967295 (-1) for a speed that it does not know.
                speed=speed / 1000 if 0 < speed < 10_000_000 else None,
            )
        )
    return ports


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


PROBE = Probe(
    name="rdma_ports",
    makes=RdmaPorts,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            "which RDMA ports are linked, how fast, and which network interface and PCI function each is",
            name="rdma ports",
        ),
    ),
    families=("nccl",),
)
