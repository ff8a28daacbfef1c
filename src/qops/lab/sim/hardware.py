"""A host's hardware, read from the scenario's `hardware` mapping, with the repetitive parts derived."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import store
from .boards import BOARDS, Board

# What nvidia-smi names as CUDA version with a branch that was installed over the scenario's.
_CUDA = {"580": "13.0", "590": "13.1", "595": "13.2", "610": "13.3"}


@dataclass(frozen=True)
class Address:
    """A PCI address."""

    domain: int
    bus: int
    device: int
    function: int

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function:x}"

    @property
    def smi(self) -> str:
        """The address in nvidia-smi's spelling: an eight-digit domain, capitals."""
        return f"{self.domain:08X}:{self.bus:02X}:{self.device:02X}.{self.function:x}"


@dataclass(frozen=True)
class Slot:
    """Where in the PCIe tree a device sits. `group` is its entry in the scenario's list of root ports."""

    address: Address
    group: int
    numa: int
    bridge: int  # devices with the same number share a host bridge
    bare: bool  # straight on the root bus, as in a virtual machine


@dataclass(frozen=True)
class Gpu:
    """One GPU of the host."""

    index: int
    slot: Slot
    uuid: str
    serial: str
    pdi: str
    module: str


@dataclass(frozen=True)
class Nic:
    """One RDMA device. A physical ConnectX-7 port of a Spark shows up as two of these."""

    index: int
    slot: Slot
    rdma: str
    netdev: str
    up: bool
    rate: int  # Gb/s
    ip: str
    infiniband: bool


@dataclass(frozen=True)
class Port:
    """A PCIe bridge above devices: a root port, or a port of a switch."""

    address: Address
    kind: str  # root, upstream, downstream
    numa: int
    secondary: int
    subordinate: int


@dataclass(frozen=True)
class Hardware:
    """The whole host."""

    host: str
    arch: str
    kernel: str
    cmdline: str
    memory_kib: int
    nodes: tuple[str, ...]  # CPU list of each NUMA node
    cpu: Mapping[str, Any]
    driver: str
    cuda: str
    board: Board
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]
    switches: tuple[Slot, ...]  # NVSwitches
    ports: tuple[Port, ...]
    nvlinks: int
    p2p: str  # OK, or why not, in nvidia-smi's letters
    raw: Mapping[str, Any]


def address(text: str) -> Address:
    """Read `bb:dd.f` or `dddd:bb:dd.f`."""
    found = re.fullmatch(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])", text)
    if not found:
        raise ValueError("not a PCI address: " + text)
    domain, bus, device, function = found.groups()
    return Address(int(domain or "0", 16), int(bus, 16), int(device, 16), int(function))


def cpus(text: str) -> tuple[int, ...]:
    """Expand a CPU list such as `0-3,8-11`."""
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return tuple(numbers)


def _digest(host: str, what: str, index: int) -> str:
    """Return 32 hexadecimal digits that are the same at each boot and differ between hosts."""
    return hashlib.sha256(f"{host}/{what}/{index}".encode()).hexdigest()[:32]


def _slots(groups: list[Mapping[str, Any]], key: str) -> list[Slot]:
    return [
        Slot(address(text), number, int(group.get("numa", 0)), int(group.get("bridge", number)), "root" not in group)
        for number, group in enumerate(groups)
        for text in group.get(key, [])
    ]


def _gpus(raw: Mapping[str, Any], groups: list[Mapping[str, Any]], host: str) -> tuple[Gpu, ...]:
    given = raw.get("gpus", {})
    gpus = []
    for index, slot in enumerate(_slots(groups, "gpus")):
        digest = _digest(host, "gpu", index)
        uuid = "GPU-" + "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))

        def pick(key: str, default: str, at: int = index) -> str:
            values = given.get(key, [])
            return str(values[at]) if at < len(values) else default

        gpus.append(
            Gpu(
                index,
                slot,
                pick("uuid", uuid),
                pick("serial", "16" + str(int(digest[:10], 16) % 10**11).zfill(11)),
                pick("pdi", "0x" + digest[16:]),
                pick("module", str(index + 1)),
            )
        )
    return tuple(gpus)


def _nic_names(raw: Mapping[str, Any], at: Address, index: int) -> tuple[str, str]:
    """Name a NIC as systemd does from its PCI address (`roce`), or in the driver's order (`mlx5`)."""
    if raw.get("naming") != "roce":
        return f"mlx5_{index}", f"ibp{at.bus}s{at.device}"
    domain = f"P{at.domain}" if at.domain else ""
    place = f"{domain}p{at.bus}s{at.device}f{at.function}"
    return "roce" + place, f"en{place}np{at.function}"


def _nics(raw: Mapping[str, Any], groups: list[Mapping[str, Any]], host: str) -> tuple[Nic, ...]:
    given = raw.get("nics", {})
    number = int((re.findall(r"\d+$", host) or ["1"])[0])
    subnets = list(given.get("subnets", []))
    nics = []
    for index, slot in enumerate(_slots(groups, "nics")):
        rdma, netdev = _nic_names(given, slot.address, index)
        functions = given.get("up")
        up = functions is None or slot.address.function in functions
        ip = f"{subnets.pop(0)}.{number}" if up and subnets else ""
        layer = given.get("link_layer", "Ethernet") == "InfiniBand"
        nics.append(Nic(index, slot, rdma, netdev, up, int(given.get("rate", 200)), ip, layer))
    return tuple(nics)


def _ports(groups: list[Mapping[str, Any]]) -> tuple[Port, ...]:
    """Return the bridges: a root port for each group and, for a switch, one port up and one per device."""
    ports: list[Port] = []
    for group in groups:
        if "root" not in group:
            continue
        numa = int(group.get("numa", 0))
        below = sorted({address(text).bus for key in ("gpus", "nics", "nvswitches") for text in group.get(key, [])})
        top = address(group["root"])
        first, last = below[0], below[-1]
        if not group.get("switch"):
            ports.append(Port(top, "root", numa, first, last))
            continue
        # The two buses of the switch itself come right before those of its devices.
        up, inner = first - 2, first - 1
        ports.append(Port(top, "root", numa, up, last))
        ports.append(Port(Address(top.domain, up, 0, 0), "upstream", numa, inner, last))
        ports += [
            Port(Address(top.domain, inner, 4 * place, 0), "downstream", numa, bus, bus)
            for place, bus in enumerate(below)
        ]
    return tuple(ports)


def read(raw: Mapping[str, Any], host: str) -> Hardware:
    """Build the hardware of a host from a scenario's `hardware` mapping."""
    groups: list[Mapping[str, Any]] = list(raw["pci"])
    driver = raw["driver"]
    return Hardware(
        host=host,
        arch=str(raw.get("arch", "x86_64")),
        kernel=str(raw["kernel"]),
        cmdline=str(raw["cmdline"]),
        memory_kib=int(raw["memory_kib"]),
        nodes=tuple(str(node) for node in raw["nodes"]),
        cpu=raw["cpu"],
        driver=str(driver["version"]),
        cuda=str(driver["cuda"]),
        board=BOARDS[raw["gpus"]["board"]],
        gpus=_gpus(raw, groups, host),
        nics=_nics(raw, groups, host),
        switches=tuple(_slots(groups, "nvswitches")),
        ports=_ports(groups),
        nvlinks=int(raw.get("nvlinks", 0)),
        p2p=str(raw.get("p2p", "OK")),
        raw=raw,
    )


def load() -> Hardware | None:
    """Read this host's hardware; `None` where no scenario was put."""
    raw = store.read_json(store.etc() / "hardware.json")
    if not raw:
        return None
    found = read(raw, str(raw.get("host") or os.uname().nodename))
    branch = store.read_line(store.var() / "driver-library").split(".")[0]
    return replace(found, cuda=_CUDA[branch]) if branch in _CUDA else found
