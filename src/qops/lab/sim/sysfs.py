"""The simulated /sys: PCI, IOMMU groups, RDMA, CPU frequency, hugepages and NUMA nodes."""

from __future__ import annotations

from dataclasses import replace

from . import store, topology
from .hardware import Hardware, Nic, Port, Slot, cpus
from .tree import Tree

# Transfer rate of a PCIe generation, as the kernel's pci_speed_string prints it.
SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}
THP_ENABLED = ("always", "madvise", "never")
THP_DEFRAG = ("always", "defer", "defer+madvise", "madvise", "never")

# Vendor and device of the bridges: AMD's and Intel's root ports, a Spark's own, a Broadcom PEX890xx.
AMD_ROOT_PORT = ("0x1022", "0x153e")
INTEL_ROOT_PORT = ("0x8086", "0x352a")
SPARK_ROOT_PORT = ("0x10de", "0x22ce")
NVSWITCH = ("0x10de", "0x22a3")
NVSWITCH_LINK = (4, 2, 4, 2)  # not confirmed
SWITCH_PORT = ("0x1000", "0xc030")
CONNECTX7 = ("0x15b3", "0x1021")
_STATES = {True: ("4: ACTIVE", "5: LinkUp"), False: ("1: DOWN", "3: Disabled")}
_GID_PREFIX = "fe80:0000:0000:0000:"
_NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


def choice(values: tuple[str, ...], chosen: str) -> str:
    """Return a choice as the kernel prints it: all values, the chosen one in brackets."""
    return " ".join(f"[{value}]" if value == chosen else value for value in values)


def mac(nic: Nic) -> str:
    """Return a MAC address that only depends on where the NIC sits."""
    at = nic.slot.address
    return f"4c:bb:47:{at.domain:02x}:{at.bus:02x}:{at.function:02x}"


def mtu(nic: Nic) -> int:
    """Return the MTU of a port's interface in bytes: what it has by default, or what fits RDMA once it is set up."""
    return 9000 if nic.ip else 1500


def gids(nic: Nic) -> list[tuple[str, str]]:
    """Return the GID table of a port as (GID, type): link-local first, then the IPv4 address, v1 before v2."""
    parts = mac(nic).split(":")
    first = f"{int(parts[0], 16) ^ 2:02x}"
    local = _GID_PREFIX + f"{first}{parts[1]}:{parts[2]}ff:fe{parts[3]}:{parts[4]}{parts[5]}"
    if nic.infiniband:
        return [(local, "IB/RoCE v1")]
    entries = [(local, "IB/RoCE v1"), (local, "RoCE v2")]
    if nic.ip:
        octets = [int(part) for part in nic.ip.split(".")]
        mapped = "0000:0000:0000:0000:0000:ffff:{:02x}{:02x}:{:02x}{:02x}".format(*octets)
        entries += [(mapped, "IB/RoCE v1"), (mapped, "RoCE v2")]
    return entries


def _device(tree: Tree, at: str, numa: int, ids: tuple[str, str], kind: str, link: tuple[int, int, int, int]) -> None:
    now_gen, now_width, max_gen, max_width = link
    tree.put_all(
        f"/sys/bus/pci/devices/{at}",
        {
            "vendor": ids[0],
            "device": ids[1],
            "class": kind,
            "numa_node": numa,
            "enable": 1,
            "current_link_speed": SPEEDS[now_gen],
            "current_link_width": now_width,
            "max_link_speed": SPEEDS[max_gen],
            "max_link_width": max_width,
        },
    )


def _pci(tree: Tree, hardware: Hardware) -> None:
    board = hardware.board
    generation, width, rest = board.link
    device, vendor = "0x" + board.device_id[2:6].lower(), "0x" + board.device_id[6:].lower()
    for gpu in hardware.gpus:
        at = str(gpu.slot.address)
        _device(tree, at, gpu.slot.numa, (vendor, device), board.pci_class, (rest, width, generation, width))
        tree.put(f"/sys/bus/pci/devices/{at}/power/control", "on")
    for nic in hardware.nics:
        # A Spark's ConnectX-7 has four lanes to each of its two PCIe functions' domains.
        lanes = 4 if hardware.board.unified else 16
        kind = "0x020700" if nic.infiniband else "0x020000"
        _device(tree, str(nic.slot.address), nic.slot.numa, CONNECTX7, kind, (5, lanes, 5, lanes))
    for switch in hardware.switches:
        _device(tree, str(switch.address), switch.numa, NVSWITCH, "0x068000", NVSWITCH_LINK)
    for port in hardware.ports:
        ids = port_ids(hardware, port)
        _device(tree, str(port.address), port.numa, ids, "0x060400", (5, 16, 5, 16))


def port_ids(hardware: Hardware, port: Port) -> tuple[str, str]:
    """Return vendor and device of a bridge."""
    if port.kind != "root":
        return SWITCH_PORT
    if hardware.board.unified:
        return SPARK_ROOT_PORT
    return INTEL_ROOT_PORT if "Intel" in str(hardware.cpu.get("model", "")) else AMD_ROOT_PORT


def _iommu(tree: Tree, hardware: Hardware) -> None:
    tree.folder("/sys/class/iommu")
    tree.folder("/sys/kernel/iommu_groups")
    mode = str(hardware.raw.get("iommu", "off"))
    if mode == "on" and "iommu=pt" in store.read_line(store.var() / "cmdline").split():
        mode = "pt"
    if mode == "off":
        return
    name = "smmu3.0x0000000005000000" if hardware.arch == "aarch64" else "ivhd0"
    if "Intel" in str(hardware.cpu.get("model", "")):
        name = "dmar0"
    tree.put(f"/sys/class/iommu/{name}/name", name)
    slots: list[Slot] = [gpu.slot for gpu in hardware.gpus] + [nic.slot for nic in hardware.nics]
    addresses = [port.address for port in hardware.ports] + [slot.address for slot in slots]
    for number, at in enumerate(addresses):
        group = f"/sys/kernel/iommu_groups/{number}"
        tree.put(f"{group}/type", "identity" if mode == "pt" else "DMA-FQ")
        tree.link(f"{group}/devices/{at}", f"/sys/bus/pci/devices/{at}")
        tree.link(f"/sys/bus/pci/devices/{at}/iommu_group", group)


def gid_table(tree: Tree, nic: Nic, ip: str) -> None:
    """Write the GID table of a port as it is with an address; the type of an unused entry cannot be read."""
    port = f"/sys/class/infiniband/{nic.rdma}/ports/1"
    table = gids(replace(nic, ip=ip))
    for index in range(8):
        gid, kind = table[index] if index < len(table) else (_NO_GID, "")
        tree.put(f"{port}/gids/{index}", gid)
        for name, value in (("types", kind), ("ndevs", nic.netdev)):
            if kind:
                tree.put(f"{port}/gid_attrs/{name}/{index}", value)
            else:
                tree.at(f"{port}/gid_attrs/{name}/{index}").unlink(missing_ok=True)


def _rdma(tree: Tree, hardware: Hardware) -> None:
    tree.folder("/sys/class/net")
    if not hardware.nics:
        return
    for nic in hardware.nics:
        at = f"/sys/bus/pci/devices/{nic.slot.address}"
        home = f"/sys/class/infiniband/{nic.rdma}"
        parts = mac(nic).split(":")
        guid = f"{parts[0]}{parts[1]}:{parts[2]}03:00{parts[3]}:{parts[4]}{parts[5]}"
        tree.put_all(
            home,
            {
                "node_type": "1: CA",
                "fw_ver": "28.45.4028",
                "hw_rev": "0",
                "hca_type": "MT4129",
                "board_id": "MT_0000000970",
                "node_guid": guid,
                "sys_image_guid": guid,
            },
        )
        tree.link(home + "/device", at)
        tree.folder(f"{at}/infiniband/{nic.rdma}")
        port = home + "/ports/1"
        state, physical = _STATES[nic.up]
        speed = nic.rate if nic.up else 40
        layer = "InfiniBand" if nic.infiniband else "Ethernet"
        tree.put_all(
            port,
            {
                "state": state,
                "phys_state": physical,
                "rate": f"{speed} Gb/sec (4X HDR)",
                "link_layer": layer,
                "lid": "0x0",
                "sm_lid": "0x0",
                "cap_mask": "0x00010000",
            },
        )
        tree.put_all(
            port + "/counters",
            {
                "port_rcv_data": 0,
                "port_xmit_data": 0,
                "port_rcv_errors": 0,
                "port_xmit_wait": 0,
                "symbol_error": 0,
                "link_downed": 0,
            },
        )
        gid_table(tree, nic, nic.ip)
        net = f"{at}/net/{nic.netdev}"
        tree.put_all(
            net,
            {
                "mtu": mtu(nic),
                "operstate": "up" if nic.up else "down",
                "carrier": int(nic.up),
                "speed": nic.rate * 1000 if nic.up else -1,
                "address": mac(nic),
            },
        )
        tree.link(net + "/device", at)
        tree.link(f"/sys/class/net/{nic.netdev}", net)


def _cpu(tree: Tree, hardware: Hardware) -> None:
    count = topology.cpu_count(hardware)
    base = "/sys/devices/system/cpu"
    tree.put_all(base, {"online": f"0-{count - 1}", "possible": f"0-{count - 1}", "present": f"0-{count - 1}"})
    driver = str(hardware.cpu.get("driver", ""))
    governors = [str(name) for name in hardware.cpu.get("governors", [])]
    for number in range(count):
        tree.folder(f"{base}/cpu{number}")
        if driver:
            tree.put_all(
                f"{base}/cpu{number}/cpufreq",
                {
                    "scaling_driver": driver,
                    "scaling_governor": hardware.cpu.get("governor", governors[0]),
                    # The kernel ends this list with a blank.
                    "scaling_available_governors": " ".join(governors) + " \n",
                    "cpuinfo_max_freq": hardware.cpu.get("max_khz", 3900000),
                    "cpuinfo_min_freq": hardware.cpu.get("min_khz", 800000),
                },
            )
    for name, value in dict(hardware.cpu.get("modules", {})).items():
        tree.put("/sys/module/" + name, str(value))


def _memory(tree: Tree, hardware: Hardware) -> None:
    thp = hardware.raw.get("thp", {})
    base = "/sys/kernel/mm/transparent_hugepage"
    tree.put(base + "/enabled", choice(THP_ENABLED, str(thp.get("enabled", "madvise"))))
    tree.put(base + "/defrag", choice(THP_DEFRAG, str(thp.get("defrag", "madvise"))))
    nodes = len(hardware.nodes)
    base = "/sys/devices/system/node"
    tree.put_all(base, {"online": f"0-{nodes - 1}" if nodes > 1 else "0", "possible": f"0-{nodes - 1}"})
    share = hardware.memory_kib // nodes
    for number, node in enumerate(hardware.nodes):
        distances = " ".join("10" if number == other else "32" for other in range(nodes))
        tree.put_all(
            f"{base}/node{number}",
            {
                "cpulist": node,
                "distance": distances,
                "meminfo": f"Node {number} MemTotal: {share:>14} kB\n",
            },
        )
        for cpu in cpus(node):
            tree.link(f"{base}/node{number}/cpu{cpu}", f"/sys/devices/system/cpu/cpu{cpu}")


def _system(tree: Tree, hardware: Hardware) -> None:
    # Version 2, as systems of these classes have it; the practice host itself may be on version 1.
    tree.put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc")
    if hardware.raw.get("watchdog"):
        tree.put("/sys/class/watchdog/watchdog0/identity", str(hardware.raw["watchdog"]))


def lay_out(tree: Tree, hardware: Hardware) -> None:
    """Write /sys."""
    _pci(tree, hardware)
    _iommu(tree, hardware)
    _cpu(tree, hardware)
    _rdma(tree, hardware)
    _memory(tree, hardware)
    _system(tree, hardware)
