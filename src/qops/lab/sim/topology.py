"""How two devices of a host are joined over PCIe, in nvidia-smi's words."""

from __future__ import annotations

from .hardware import Hardware, Slot, cpus


def relation(hardware: Hardware, one: Slot, other: Slot) -> str:
    """Return PIX, PXB, PHB, NODE or SYS for two devices."""
    if max(one.numa, 0) != max(other.numa, 0):
        return "SYS"
    if one.group == other.group and not one.bare:
        return "PIX"
    return "PHB" if one.bridge == other.bridge else "NODE"


def cpu_affinity(hardware: Hardware, slot: Slot) -> tuple[str, int]:
    """Return the CPU list and the NUMA node that a device is near to."""
    node = max(slot.numa, 0)
    return hardware.nodes[node], node


def cpu_count(hardware: Hardware) -> int:
    """Return how many logical CPUs the host has."""
    return sum(len(cpus(node)) for node in hardware.nodes)
