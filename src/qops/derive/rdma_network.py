"""Which RDMA ports carry a job's traffic, what addresses they should have, and which interface sockets should use."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.evidence.network import Network, NetworkConfig, RdmaPort
from qops.evidence.pcie import PcieTree

MTU = 9000  # bytes; what sparkrun and NVIDIA's switch playbook set: a RoCE payload of 4096 and its headers fit
SPARK_SPEED = 200.0  # Gb/s that each interface of a Spark's linked port shows (NVIDIA's connect-two-sparks)
_BY_PCI = re.compile(r"[0-9a-f]{4,8}:([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")

Network4 = ipaddress.IPv4Network


def socket_of(port: RdmaPort) -> str:
    """Return what two functions of one physical port of a Spark have in common.

    Each port is two PCIe functions, in domains 0000 and 0002, with a 100G path each (NVIDIA's Spark guide).
    """
    found = _BY_PCI.fullmatch(port.address)
    return found[1] if found else re.sub(r"P\d+", "", port.device)


def twins(ports: Sequence[RdmaPort]) -> tuple[tuple[RdmaPort, RdmaPort], ...]:
    """Return the pairs of functions that are one physical port."""
    ordered = sorted(ports, key=lambda p: (socket_of(p), p.address))
    return tuple((a, b) for a, b in pairwise(ordered) if socket_of(a) == socket_of(b))


def data_ports(
    ports: Sequence[RdmaPort], hardware: HardwareClass, tree: PcieTree | None, config: NetworkConfig | None
) -> tuple[Derived[tuple[RdmaPort, ...]], tuple[str, ...]]:
    """Return the ports that should carry a job, in the order of their rails, and a line for each one left out.

    A Spark: every linked one. Else those below a PCIe switch or root port that also has a GPU below it, and of
    these the fastest; where none is so, the fastest that are no way out of the host.
    """
    linked = [p for p in ports if p.active]
    down = [f"{p.device} is not linked" for p in ports if not p.active]
    if hardware is HardwareClass.SPARK:
        chosen = sorted((p for p in linked if p.ethernet), key=lambda p: (socket_of(p), p.address))
        return Derived(tuple(chosen), "each linked port is two devices, and both are needed for its rate"), tuple(down)
    near = [p for p in linked if _beside_gpu(p, tree)]
    ways_out = set(config.default) if config else set()
    pool = near or [p for p in linked if p.interface not in ways_out]
    fastest = max((p.rate or 0 for p in pool), default=0)
    chosen = [p for p in pool if (p.rate or 0) == fastest]
    where = "the fastest that share a PCIe switch with a GPU" if near else "the fastest that are no way out of the host"
    left = [
        f"{p.device} is left out: " + (f"{p.rate:g} Gb/s" if p in pool else "no GPU is near it, or it is a way out")
        for p in linked
        if p not in chosen
    ]
    return Derived(tuple(sorted(chosen, key=_natural)), where), (*left, *down)


def _natural(port: RdmaPort) -> tuple[object, ...]:
    """Order mlx5_2 before mlx5_10."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", port.device))


def _beside_gpu(port: RdmaPort, tree: PcieTree | None) -> bool:
    return bool(near_gpus(port, tree))


def near_gpus(port: RdmaPort, tree: PcieTree | None) -> tuple[int, ...]:
    """Return the numbers of the GPUs, in PCI order, that share a bridge with a port."""
    device = next((d for d in tree.devices if d.address == port.address), None) if tree else None
    if tree is None or device is None:
        return ()
    above = {b.address for b in tree.above(device)}
    gpus = sorted(tree.gpus, key=lambda g: g.address)
    return tuple(n for n, gpu in enumerate(gpus) if above & {b.address for b in tree.above(gpu)})


def addresses(network: Network | None, interface: str) -> tuple[str, ...] | None:
    """Return the IPv4 addresses of an interface, with prefix length; None when the interface was not seen."""
    found = next((i for i in network.interfaces if i.name == interface), None) if network else None
    return None if found is None else tuple(a for a in found.addresses if ":" not in a)


def mtu(network: Network | None, interface: str) -> int | None:
    """Return the MTU of an interface in bytes."""
    return next((i.mtu for i in network.interfaces if i.name == interface), None) if network else None


def plan_addresses(ports: Sequence[RdmaPort], subnets: Sequence[Network4], number: int) -> dict[str, str]:
    """Return an address with prefix length for each port's interface: host `number` (from 1) of one subnet each.

    All hosts that list the same names in the same order get addresses that fit: the ports are taken by rail.
    IndexError when there are more ports than subnets.
    """
    return {
        port.interface: f"{subnet.network_address + number}/{subnet.prefixlen}"
        for port, subnet in zip(ports, subnets[: len(ports)], strict=True)
    }


def number_in(subnets: Sequence[Network4], ports: Sequence[RdmaPort], network: Network | None) -> int | None:
    """Return which number a host has in the subnets, by the first address that a port has in the one of its rail."""
    for port, subnet in zip(ports, subnets, strict=False):
        for address in addresses(network, port.interface) or ():
            there = ipaddress.ip_interface(address)
            if there.network == subnet:
                return int(there.ip) - int(subnet.network_address)
    return None


def conflicts(planned: Mapping[str, str], network: Network | None) -> tuple[str, ...]:
    """Return why planned addresses cannot be: another interface has that network, or an address within it."""
    found = []
    for interface, address in planned.items():
        wanted = ipaddress.ip_interface(address).network
        for other in network.interfaces if network else ():
            if other.name == interface:
                continue
            for theirs in other.addresses:
                if ":" in theirs or other.name in planned:
                    continue
                if ipaddress.ip_interface(theirs).network.overlaps(wanted):
                    found.append(
                        f"{address} for {interface} lies in the network of {other.name} ({theirs}): "
                        "give other rdma_network_subnets"
                    )
    return tuple(found)


def same_subnet(a: Sequence[str], b: Sequence[str]) -> str:
    """Return the network in which two interfaces both have an address, or ""."""
    ours = {ipaddress.ip_interface(x).network for x in a}
    both = ours & {ipaddress.ip_interface(x).network for x in b}
    return str(min(both, key=str)) if both else ""


def socket_interface(
    ports: Sequence[RdmaPort], planned: Mapping[str, str], network: Network | None, config: NetworkConfig | None
) -> Derived[str]:
    """Return the interface for bootstrap and sockets: the first port's that has an address; "" leaves it to NCCL.

    Never a wireless one, nor the way out: when that goes, a job over it goes as well (spark-arena/sparkrun 219).
    """
    never = {*config.wireless, *config.default} if config else set()
    for port in ports:
        has = planned.get(port.interface) or addresses(network, port.interface)
        if has and port.interface not in never:
            return Derived(port.interface, "it is on the fast link, and the way out of the host can go without harm")
    return Derived("", "no RDMA interface fits (an address, and not the way out), so NCCL chooses by itself")


def ipv4_gid(gid: str) -> bool:
    """Return whether a GID is an IPv4 address (::ffff:a.b.c.d), as the kernel or show_gids writes it."""
    return re.match(r"(?:::|(?:0{1,4}:){5})ffff:", gid.lower()) is not None


def common_indexes(network: Network | None, devices: Sequence[str]) -> tuple[int, ...]:
    """Return the GID indexes that are a RoCE v2 IPv4 address on all devices, the lowest first."""
    gids = network.gids if network else ()
    own = [{g.index for g in gids if g.device == d and ipv4_gid(g.gid) and g.kind != "RoCE v1"} for d in devices]
    return tuple(sorted(set.intersection(*own))) if own else ()
