"""`nvidia-smi topo -m`, `topo -p2p` and `nvlink -s`."""

from __future__ import annotations

from .. import topology
from ..hardware import Gpu, Nic
from .snapshot import Snapshot

_LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""

_P2P_LEGEND = """
Legend:

  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
  GNS  = GPU not supported
  TNS  = Topology not supported
  NS   = Not supported
"""
_P2P_UNKNOWN = "  U    = Unknown\n"


def _link(shot: Snapshot, one: Gpu | Nic, other: Gpu | Nic) -> str:
    if one is other:
        return " X "
    links = shot.hardware.nvlinks
    if links and isinstance(one, Gpu) and isinstance(other, Gpu):
        return f"NV{links}"
    return topology.relation(shot.hardware, one.slot, other.slot)


def matrix(shot: Snapshot) -> str:
    """Return `topo -m`. The header is underlined with escapes even on a pipe, as the real tool does."""
    devices: list[Gpu | Nic] = [*shot.gpus, *shot.hardware.nics]
    names = [f"GPU{one.index}" if isinstance(one, Gpu) else f"NIC{one.index}" for one in devices]
    columns = [*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
    rows = ["\t\x1b[4m" + "\t".join(columns) + "\x1b[0m"]
    for place, one in enumerate(devices):
        cells = [names[place], *(_link(shot, one, other) for other in devices)]
        if isinstance(one, Gpu):
            near, node = topology.cpu_affinity(shot.hardware, one.slot)
            cells += [near, str(node), "", "N/A"]
        else:
            cells += ["", "", "", ""]
        rows.append("\t".join(cells))
    text = "\n".join(rows) + "\n" + _LEGEND
    if shot.hardware.nics:
        text += "\nNIC Legend:\n\n"
        text += "".join(f"  NIC{nic.index}: {nic.rdma}\n" for nic in shot.hardware.nics) + "\n"
    return text


def p2p(shot: Snapshot, capability: str) -> str:
    """Return `topo -p2p` for read, write, nvlink, atomics or prop."""
    nvlink = bool(shot.hardware.nvlinks)
    status = shot.hardware.p2p
    if capability == "p" or (capability == "n" and not nvlink):
        # `prop` is NS on the recorded NVLink pair; without NVLink there is no NVLink peer either.
        status = "NS" if status == "OK" else status
    elif capability == "a" and not nvlink and status == "OK":
        status = "NS"  # PCIe peers of these classes take no atomics through the root complex
    rows = [" \t\x1b[4m" + "".join(f"GPU{gpu.index}\t" for gpu in shot.gpus) + "\x1b[0m"]
    for one in shot.gpus:
        rows.append(f" GPU{one.index}\t" + "".join(("X" if one is other else status) + "\t" for other in shot.gpus))
    # Reported of a 2025 GeForce host but not in the 580.159.04 recording.
    regkey = "  DR   = Disabled by regkey\n" if status == "GNS" else ""
    return "\n".join(rows) + "\n" + _P2P_LEGEND + regkey + _P2P_UNKNOWN


def nvlink_status(shot: Snapshot, gpus: tuple[Gpu, ...]) -> str:
    """Return `nvlink -s`: nothing at all where the board has no NVLink."""
    text = ""
    for gpu in gpus if shot.hardware.nvlinks else ():
        text += f"GPU {gpu.index}: {shot.hardware.board.name} (UUID: {gpu.uuid})\n"
        speed = shot.hardware.board.nvlink_speed
        text += "".join(f"\t Link {link}: {speed} GB/s\n" for link in range(shot.hardware.nvlinks))
    return text
