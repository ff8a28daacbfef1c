"""The plan of the role rdma_network: addresses and MTU of linked RDMA ports, and what NCCL is told of them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from qops.derive import network_files, rdma_network
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State, setting
from qops.evidence.network import Network, NetworkConfig, RdmaPort, RdmaPorts
from qops.evidence.pcie import PcieTree
from qops.plans import rdma_addresses, rdma_options
from qops.plans.base import Options, Plan, RolePlan, Seen
from qops.plans.rdma_options import Chosen
from qops.probes.network_config import MARK

_TEST = (
    "measure each rail before a job does: `ib_write_bw -d {device} --report_gbits` on both ends gives 92 to 97 Gb/s on "
    "a Spark; 13 Gb/s on a link that shows its full speed is a known fault of the NIC, which a cold boot mends"
)
_UNITS = "/etc/systemd/system"
_UNIT = "qops-rdma-env.service"
_NOTHING: dict[str, Any] = {
    "addresses": [],
    "environment": None,
    "files": [],
    "network_files": [],
    "network_differs": False,
    "manager": "",
    "running": [],
    "interfaces": [],
}


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    chosen = rdma_options.checked(options)
    there: RdmaPorts | None = seen.get(RdmaPorts)
    config: NetworkConfig | None = seen.get(NetworkConfig)
    network: Network | None = seen.get(Network)
    if there is None or config is None:
        unseen = Setting("RDMA", "", "", "", State.UNSEEN, "its ports and its network were not seen")
        return Plan(settings=(unseen,), facts=_NOTHING)
    ports, left = _ports(chosen, there, hardware.value, seen.get(PcieTree), config)
    refused = [f"rdma_network_hca: this host has no {d}" for d in _missing(chosen, there)]
    if not ports.value:
        because = "no RDMA port is linked (is the cable in?)" if there.ports else "this host has no RDMA device"
        nothing = Setting("RDMA", "", "", "", State.LEFT, because)
        return Plan(settings=(nothing,), refused=tuple(refused), facts=_NOTHING)
    roce = [p for p in ports.value if p.ethernet]
    found = rdma_addresses.addresses(chosen, hardware.value, roce, network, config)
    mtu = rdma_addresses.mtus(chosen, roce, found, network, config)
    size = rdma_network.MTU if chosen.mtu == "auto" else int(chosen.mtu) if chosen.mtu != "leave" else None
    manager = config.managers[0] if config.managers else ""
    files = network_files.files(manager, found.mine, size, MARK)
    if found.mine and not manager:
        refused.append("neither netplan, NetworkManager nor systemd-networkd is there to give ports their addresses")
    there_already = {f.path for f in config.files if not f.ours} & {f.dest for f in files}
    if not chosen.replace:
        hint = "rdma_network_replace_addresses: true replaces it"
        refused += [f"{path} is there and not qops's: {hint}" for path in sorted(there_already)]
    stale = [f.path for f in config.files if f.ours and f.path not in {x.dest for x in files}]
    own: list[dict[str, str]] = [*(asdict(f) for f in files), *({"dest": path, "state": "absent"} for path in stale)]
    told, environment = _environment(chosen, ports, found.wanted, network, config)
    settings = (*found.settings, *mtu, *told)
    new = any(s.state is State.DIFFERS for s in settings)
    notes = _notes(ports.value, left, hardware.value, seen.get(PcieTree), new=new)
    return Plan(
        settings=settings,
        refused=(*refused, *found.refused),
        notes=(*found.notes, *notes),
        facts={
            "addresses": list(found.wanted.values()),
            "environment": environment,
            "files": _files(own, manager if manager not in config.running else "", environment is not None),
            "network_files": own,
            "network_differs": any(s.state is State.DIFFERS for s in (*found.settings, *mtu)),
            "manager": manager,
            "running": list(config.running),
            "interfaces": list(found.mine),
        },
    )


def _files(own: Sequence[dict[str, str]], to_start: str, environment: bool) -> list[dict[str, str]]:
    """Return the role's files. `to_start` is who reads the network's, where it is to be started at boot from now on."""
    found = list(own)
    wants = f"{_UNITS}/multi-user.target.wants"
    # Links, not `enabled`: systemctl would reload systemd, and containers with GPUs by --gpus lose them then.
    if to_start == "systemd-networkd" and any("content" in f for f in own):
        unit = f"{to_start}.service"
        found.append({"dest": f"{wants}/{unit}", "state": "link", "src": f"/usr/lib/systemd/system/{unit}"})
    if environment:
        found += [
            {"dest": "/etc/qops", "state": "directory"},
            {"dest": "/etc/qops/rdma-network.conf", "template": "rdma-network.conf.j2"},
            {"dest": "/usr/local/sbin/qops-rdma-env", "file": "qops-rdma-env.sh", "mode": "0755"},
            {"dest": f"{_UNITS}/{_UNIT}", "file": _UNIT},
            {"dest": f"{wants}/{_UNIT}", "state": "link", "src": f"../{_UNIT}"},
        ]
    return found


def _ports(
    chosen: Chosen, there: RdmaPorts, hardware: HardwareClass, tree: PcieTree | None, config: NetworkConfig
) -> tuple[Derived[tuple[RdmaPort, ...]], tuple[str, ...]]:
    if chosen.hca == "auto":
        return rdma_network.data_ports(there.ports, hardware, tree, config)
    named = chosen.hca.split(",")
    listed = sorted((p for p in there.ports if p.device in named and p.active), key=lambda p: named.index(p.device))
    down = tuple(f"{p.device} is not linked" for p in there.ports if p.device in named and not p.active)
    return Derived(tuple(listed), "the inventory says so"), down


def _missing(chosen: Chosen, there: RdmaPorts) -> list[str]:
    have = {p.device for p in there.ports}
    return [d for d in chosen.hca.split(",") if d not in have] if chosen.hca != "auto" else []


def _environment(
    chosen: Chosen,
    ports: Derived[tuple[RdmaPort, ...]],
    wanted: dict[str, str],
    network: Network | None,
    config: NetworkConfig,
) -> tuple[list[Setting], dict[str, str] | None]:
    """Return what the unit qops-rdma-env is told, and how what NCCL is told now stands; None: it has nothing to say."""
    usable = [p for p in ports.value if not p.ethernet or p.interface in wanted]
    if not usable:
        because = "no linked port has an address, so no job can use RDMA"
        return [Setting("NCCL_IB_HCA", "", "", "", State.LEFT, because)], None
    devices = ",".join(p.device for p in usable)
    socket = Derived("" if chosen.socket == "leave" else chosen.socket, "the inventory says so")
    if chosen.socket == "auto":
        socket = rdma_network.socket_interface(usable, wanted, network, config)
    resolve = chosen.gid_index == "auto" and any(p.ethernet for p in usable)
    now = config.environment or {}
    settings = [setting("NCCL_IB_HCA", f"={devices}", now.get("NCCL_IB_HCA", ""), ports.because)]
    if socket.value:
        name = "NCCL_SOCKET_IFNAME"
        settings.append(setting(name, f"={socket.value}", now.get(name, ""), socket.because))
    else:
        settings.append(Setting("NCCL_SOCKET_IFNAME", "", "", "", State.LEFT, socket.because))
    if resolve:
        settings.append(_index(now.get("NCCL_IB_GID_INDEX", ""), network, devices))
    told = {"hcas": devices, "gid": "resolve" if resolve else "leave", "socket": socket.value, "wait": str(chosen.wait)}
    return settings, told


def _index(now: str, network: Network | None, devices: str) -> Setting:
    """Return how the GID index stands: any that all devices have in common will do, and the unit takes the lowest."""
    common = [str(index) for index in rdma_network.common_indexes(network, devices.split(","))]
    value = now if now in common else common[0] if common else "what the unit finds"
    return setting("NCCL_IB_GID_INDEX", value, now, "the unit finds it each time it starts, since it changes")


def _notes(
    ports: Sequence[RdmaPort], left: Sequence[str], hardware: HardwareClass, tree: PcieTree | None, *, new: bool
) -> tuple[str, ...]:
    """Return what a person should know: always what is wrong, the rest only when something is `new`."""
    if hardware is not HardwareClass.SPARK:
        near = ((p, rdma_network.near_gpus(p, tree)) for p in ports)
        told = (*(f"{p.device} is near GPU {', '.join(map(str, gpus))}" for p, gpus in near if gpus), *left)
        return told if new else ()
    slow = [
        f"{p.interface} is linked at {p.speed:g} Gb/s and not at {rdma_network.SPARK_SPEED:g}: see the cable"
        for p in ports
        if p.speed is not None and p.speed < rdma_network.SPARK_SPEED
    ]
    return (*slow, *left, _TEST.format(device=ports[0].device)) if new else tuple(slow)


PLAN = RolePlan(
    role="rdma_network",
    kinds=(RdmaPorts, Network, NetworkConfig, PcieTree),
    defaults=rdma_options.DEFAULTS,
    make=make,
)
