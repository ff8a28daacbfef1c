"""The machine that NCCL finds, of the GPUs that a job uses."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from qops.derive import peer_probe
from qops.derive.cuda_compat import host_driver
from qops.derive.nccl_environment import Machine
from qops.evidence.gpu import DriverModule, Gpus, P2pStatus, Topology
from qops.evidence.kernel import Iommu, KernelCommandLine, System
from qops.evidence.pcie import PcieTree
from qops.evidence.peer_probe import PeerProbe

KINDS = (Gpus, Topology, P2pStatus, PcieTree, Iommu, KernelCommandLine, System, DriverModule, PeerProbe)


def machine(seen: Mapping[type, Any], indexes: Sequence[int]) -> Machine:
    """Return the machine as the GPUs `indexes` see it: their pairs, and what was proved of just these."""
    names = {f"GPU{index}" for index in indexes}
    boards: Gpus | None = seen.get(Gpus)
    used = (
        msgspec.structs.replace(boards, gpus=tuple(gpu for gpu in boards.gpus if gpu.index in indexes))
        if boards
        else None
    )
    topology: Topology | None = seen.get(Topology)
    if topology is not None:
        pairs = tuple(pair for pair in topology.pairs if {pair.a, pair.b} <= names)
        topology = msgspec.structs.replace(topology, pairs=pairs)
    return Machine(
        gpus=len(indexes),
        topology=topology,
        status=seen.get(P2pStatus),
        pcie=seen.get(PcieTree),
        iommu=seen.get(Iommu),
        command_line=seen.get(KernelCommandLine),
        system=seen.get(System),
        boards=boards,
        probed=peer_probe.probed(seen.get(PeerProbe), used, host_driver(seen.get(DriverModule), boards)),
    )
