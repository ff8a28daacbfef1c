"""The aspects of a host as a machine: GPUs, driver, kernel, PCIe, network, settings."""

from collections.abc import Callable, Iterable
from typing import Any

from qops.derive.aspects.aspect import Aspect, Evidence, Matter, Values
from qops.derive.cuda_compat import host_driver
from qops.derive.platform import redirects
from qops.evidence.gpu import DriverModule, DriverParams, Gpu, Gpus, P2pStatus, Topology
from qops.evidence.kernel import (
    CpuFrequency,
    Hugepages,
    Iommu,
    KernelCommandLine,
    Memory,
    Modules,
    SharedMemory,
    Sysctls,
    System,
)
from qops.evidence.network import Network, RdmaPorts
from qops.evidence.pcie import PcieTree
from qops.evidence.power import ClockLocks

# The kernel sizes these to the memory that it finds.
_SIZED = ("fs.file-max", "kernel.threads-max", "user.max_", "vm.max_map_count", "fs.epoll.", "fs.inotify.max_user_w")
_MODULES = ("nvidia", "nouveau", "nova", "vfio", "rdma", "mlx5", "ib_")
_ITS_OWN = ("BOOT_IMAGE=", "initrd=")  # of a kernel's command line: they name the kernel, which is an aspect of its own


def _gpus(name: Callable[[Gpu], Any]) -> Callable[[Evidence], Values | None]:
    def read(seen: Evidence) -> Values | None:
        gpus: Gpus | None = seen.get(Gpus)
        if gpus is None or gpus.bare:
            return None
        told = {f"GPU {gpu.index}": name(gpu) for gpu in gpus.gpus}
        return {subject: str(value) for subject, value in told.items() if value not in (None, "")} or None

    return read


def _driver(seen: Evidence) -> Values | None:
    driver = host_driver(seen.get(DriverModule), seen.get(Gpus))
    return {"": driver} if driver else None


def _kernel(seen: Evidence) -> Values | None:
    system: System | None = seen.get(System)
    return {"kernel": system.kernel, "system": system.os} if system and system.kernel else None


def _command_line(seen: Evidence) -> Values | None:
    line: KernelCommandLine | None = seen.get(KernelCommandLine)
    if line is None:
        return None
    return _options(option for option in line.options if not option.startswith(_ITS_OWN))


def _options(options: Iterable[str]) -> Values:
    found: dict[str, str] = {}
    for option in options:
        name, _, value = option.partition("=")
        found[name] = f"{found[name]} {value}" if name in found else value or "set"
    return found


def _topology(seen: Evidence) -> Values | None:
    topology: Topology | None = seen.get(Topology)
    if topology is None or not topology.pairs:
        return None
    return {f"{pair.a} {pair.b}": f"{pair.path}{pair.links or ''}" for pair in topology.pairs}


def _p2p(seen: Evidence) -> Values | None:
    status: P2pStatus | None = seen.get(P2pStatus)
    return {f"{p.a} {p.b} {p.capability}".strip(): p.status for p in status.pairs} if status else None


def _acs(seen: Evidence) -> Values | None:
    tree: PcieTree | None = seen.get(PcieTree)
    if tree is None or not any(device.acs_quote for device in tree.devices):
        return None
    return {device.address: "redirects" for device, _ in redirects(tree) if device.address}


def _iommu(seen: Evidence) -> Values | None:
    iommu: Iommu | None = seen.get(Iommu)
    if iommu is None:
        return None
    return {"": ", ".join(sorted(set(iommu.group_types))) or "at work" if iommu.units else "none"}


def _modules(seen: Evidence) -> Values | None:
    modules: Modules | None = seen.get(Modules)
    return {name: "loaded" for name in modules.loaded if name.startswith(_MODULES)} if modules else None


def _module_options(seen: Evidence) -> Values | None:
    params: DriverParams | None = seen.get(DriverParams)
    return dict(params.params) if params else None


def _sysctls(seen: Evidence) -> Values | None:
    sysctls: Sysctls | None = seen.get(Sysctls)
    if sysctls is None:
        return None
    return {name: value for name, value in sysctls.values.items() if not name.startswith(_SIZED)}


def _processor(seen: Evidence) -> Values | None:
    frequency: CpuFrequency | None = seen.get(CpuFrequency)
    pages: Hugepages | None = seen.get(Hugepages)
    if frequency is None and pages is None:
        return None
    found = {"governors": ", ".join(sorted(frequency.governors)) or "none"} if frequency else {}
    return found | ({"transparent hugepages": pages.enabled or "none"} if pages else {})


def _memory(seen: Evidence) -> Values | None:
    memory: Memory | None = seen.get(Memory)
    shared: SharedMemory | None = seen.get(SharedMemory)
    found = {"memory": f"{memory.total / 2**30:.0f} GiB"} if memory else {}
    if shared and shared.size is not None:
        found["/dev/shm"] = f"{shared.size / 2**30:.1f} GiB"  # noqa: S108 - its name
    return found or None


def _network(seen: Evidence) -> Values | None:
    network: Network | None = seen.get(Network)
    ports: RdmaPorts | None = seen.get(RdmaPorts)
    found: dict[str, str] = {}
    for one in network.interfaces if network else ():
        if not one.name.startswith(("veth", "br-", "docker", "lo", "cni", "cali")):
            found[one.name] = f"{'up' if one.up else 'down' if one.up is False else '?'}, MTU {one.mtu}"
    for port in ports.ports if ports else ():
        rate = f"{port.rate:g} Gb/s" if port.rate is not None else "?"
        found[f"{port.device}/{port.port}"] = f"{'active' if port.active else 'down'}, {rate}"
    return found or None


def _locks(seen: Evidence) -> Values | None:
    locks: ClockLocks | None = seen.get(ClockLocks)
    return dict(locks.locks) if locks else None


def _watts(limit: float | None) -> str | None:
    return None if limit is None else f"{limit:.0f} W"


MACHINE: tuple[Aspect, ...] = (
    Aspect("GPU", Matter.BREAKS, "a GPU was swapped, went away or came", _gpus(lambda g: f"{g.name} {g.uuid}".strip())),
    Aspect("driver", Matter.BREAKS, "libraries, images and containers have to fit it", _driver),
    Aspect("kernel", Matter.BREAKS, "the driver's module is built for one kernel", _kernel),
    Aspect("kernel command line", Matter.BREAKS, "it decides on the IOMMU and on PCIe", _command_line),
    Aspect("kernel module", Matter.BREAKS, "GPUs and RDMA need theirs", _modules),
    Aspect("driver option", Matter.BREAKS, "it changes how the driver works", _module_options),
    Aspect("IOMMU", Matter.BREAKS, "one that translates can break peer-to-peer", _iommu),
    Aspect("ACS", Matter.BREAKS, "a bridge that redirects slows or breaks peer-to-peer", _acs),
    Aspect("peer-to-peer", Matter.BREAKS, "NCCL asks the driver for it", _p2p),
    Aspect("PCIe width", Matter.SLOWS, "a narrower link carries less", _gpus(lambda g: g.link_width)),
    Aspect("PCIe generation", Matter.SLOWS, "slot and card settled on less", _gpus(lambda g: g.link_gen_max)),
    Aspect("power limit", Matter.SLOWS, "a lower one slows the GPU", _gpus(lambda g: _watts(g.power_limit))),
    Aspect("locked clocks", Matter.SLOWS, "they bound how fast a GPU goes", _locks),
    Aspect("path between GPUs", Matter.SLOWS, "collectives take it", _topology),
    Aspect("network", Matter.SLOWS, "nodes talk over it", _network),
    Aspect("processor", Matter.SLOWS, "the engine's own work waits for it", _processor),
    Aspect("memory", Matter.SLOWS, "weights and ranks share it", _memory),
    Aspect("sysctl", Matter.DIFFERS, "the kernel works by it", _sysctls),
    Aspect("persistence", Matter.DIFFERS, "without it a GPU takes seconds to wake", _gpus(lambda g: g.persistence)),
)
