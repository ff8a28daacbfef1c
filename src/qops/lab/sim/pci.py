"""The simulated `lspci`: list, numeric and verbose forms of a host's GPUs, NICs and bridges."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from . import NOTICE, bridges, faults, hardware, passthrough, sysfs
from .hardware import Address, Hardware
from .privilege import is_root

_CLASSES = {
    "0x030000": "VGA compatible controller",
    "0x030200": "3D controller",
    "0x020000": "Ethernet controller",
    "0x020700": "Infiniband controller",
    "0x060400": "PCI bridge",
    "0x068000": "Bridge",
}
_VENDORS = {
    "0x10de": "NVIDIA Corporation",
    "0x15b3": "Mellanox Technologies",
    "0x1022": "Advanced Micro Devices, Inc. [AMD]",
    "0x8086": "Intel Corporation",
    "0x1000": "Broadcom / LSI",
}
_GT = {1: "2.5GT/s", 2: "5GT/s", 3: "8GT/s", 4: "16GT/s", 5: "32GT/s"}


@dataclass(frozen=True)
class Function:
    """One PCI function as lspci shows it."""

    at: Address
    kind: str
    vendor: str
    device: str
    name: str
    numa: int
    driver: str
    link: tuple[int, int, int, int]  # generation and width now, then at most
    port: hardware.Port | None = None
    revision: str = "a1"


def functions(here: Hardware, gone: Sequence[str]) -> tuple[Function, ...]:
    """Return every function in the order of lspci; GPUs in `gone` have left the bus."""
    board = here.board
    found: list[Function] = []
    vendor, device = "0x" + board.device_id[6:].lower(), "0x" + board.device_id[2:6].lower()
    generation, width, rest = board.link
    for gpu in here.gpus:
        at = str(gpu.slot.address)
        revision = "ff" if at in gone else "a1"
        found.append(
            Function(
                gpu.slot.address,
                board.pci_class,
                vendor,
                device,
                board.pci_name,
                gpu.slot.numa,
                "nvidia",
                (rest, width, generation, width),
                revision=revision,
            )
        )
    lanes = 4 if board.unified else 16
    for nic in here.nics:
        kind = "0x020700" if nic.infiniband else "0x020000"
        found.append(
            Function(
                nic.slot.address,
                kind,
                *sysfs.CONNECTX7,
                "MT2910 Family [ConnectX-7]",
                nic.slot.numa,
                "mlx5_core",
                (5, lanes, 5, lanes),
                revision="00",
            )
        )
    for nvswitch in here.switches:
        found.append(
            Function(
                nvswitch.address,
                "0x068000",
                *sysfs.NVSWITCH,
                "GH100 [H100 NVSwitch]",
                nvswitch.numa,
                "nvidia-nvswitch",
                sysfs.NVSWITCH_LINK,
            )
        )
    for port in here.ports:
        ids = sysfs.port_ids(here, port)
        names = {
            sysfs.SWITCH_PORT: "PEX890xx PCIe Gen 5 Switch",
            sysfs.AMD_ROOT_PORT: "Device 153e",
            sysfs.INTEL_ROOT_PORT: "Device 352a",
            sysfs.SPARK_ROOT_PORT: "Device 22ce",
        }
        switch = port.kind != "root"
        found.append(
            Function(
                port.address,
                "0x060400",
                *ids,
                names[ids],
                port.numa,
                "pcieport",
                (5, 16, 5, 16),
                port,
                "b0" if switch else "00",
            )
        )
    return tuple(sorted(found, key=lambda one: str(one.at)))


def _name(one: Function, numeric: int) -> str:
    kind, vendor, device = one.kind[2:6], one.vendor[2:], one.device[2:]
    revision = f" (rev {one.revision})" if one.revision != "00" else ""
    progif = " (prog-if 00 [Normal decode])" if one.port else ""
    if numeric == 1:
        return f"{kind}: {vendor}:{device}{revision}{progif if one.port else ''}"
    label = f"{_CLASSES[one.kind]} [{kind}]" if numeric else _CLASSES[one.kind]
    ids = f" [{vendor}:{device}]" if numeric else ""
    return f"{label}: {_VENDORS[one.vendor]} {one.name}{ids}{revision}{progif}"


def _access_control(one: Function, planted: faults.Faults) -> list[str]:
    """Return the ACS capability of a port that has one. Redirect is what sends peer traffic to the root."""
    word = bridges.control(one.port, planted) if one.port else None
    if word is None:
        return []
    control = " ".join(name + ("+" if word & 1 << bit else "-") for bit, name in enumerate(bridges.BITS))
    return [
        "\tCapabilities: [2a0 v1] Access Control Services",
        "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+",
        f"\t\tACSCtl:\t{control}",
    ]


def _verbose(one: Function, planted: faults.Faults, level: int) -> list[str]:
    if one.revision == "ff":
        # A function that does not answer reads as ones.
        return ["\t!!! Unknown header type 7f", f"\tKernel driver in use: {one.driver}", ""]
    rows = ["\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+"]
    if one.numa >= 0:
        rows.append(f"\tNUMA node: {one.numa}")
    kinds = {"root": "Root Port (Slot+)", "upstream": "Upstream Port", "downstream": "Downstream Port (Slot+)"}
    if one.port:
        port = one.port
        rows.append(
            f"\tBus: primary={one.at.bus:02x}, secondary={port.secondary:02x}, "
            f"subordinate={port.subordinate:02x}, sec-latency=0"
        )
    if not is_root():
        return [*rows, "\tCapabilities: <access denied>", f"\tKernel driver in use: {one.driver}", ""]
    kind = kinds[one.port.kind] if one.port else "Endpoint"
    now_gen, now_width, max_gen, max_width = one.link
    rows.append(f"\tCapabilities: [60] Express (v2) {kind}, MSI 00")
    if level > 1:
        lower = " (downgraded)" if now_gen < max_gen else ""
        narrow = " (downgraded)" if now_width < max_width else ""
        rows += [
            f"\t\tLnkCap:\tPort #0, Speed {_GT[max_gen]}, Width x{max_width}, ASPM L1, Exit Latency L1 <4us",
            "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+",
            f"\t\tLnkSta:\tSpeed {_GT[now_gen]}{lower}, Width x{now_width}{narrow}",
            *_access_control(one, planted),
        ]
    return [*rows, f"\tKernel driver in use: {one.driver}", ""]


def _matches(one: Function, slot: str, ids: str) -> bool:
    text = str(one.at)
    if slot:
        wanted = slot if slot.count(":") == 2 else "0000:" + slot
        if not (text == wanted or ("." not in wanted and text.startswith(wanted))):
            return False
    if ids:
        vendor, _, device = ids.partition(":")
        if vendor and int(vendor, 16) != int(one.vendor, 16):
            return False
        if device and device.split(":")[0] and int(device.split(":")[0], 16) != int(one.device, 16):
            return False
    return True


def main(arguments: Sequence[str]) -> int:
    """Answer as lspci would."""
    here = hardware.load()
    if here is None:
        return passthrough.real("lspci", arguments)
    if "--version" in arguments or "-h" in arguments:
        sys.stdout.write(NOTICE + "\nlspci [-D] [-n | -nn] [-k] [-v | -vv | -vvv] [-s SLOT] [-d VENDOR:DEVICE]\n")
        return 0
    letters = "".join(word[1:] for word in arguments if word.startswith("-") and word[1:2] not in ("s", "d"))
    values = {"s": "", "d": ""}
    for place, word in enumerate(arguments):
        if word[:2] in ("-s", "-d"):
            values[word[1]] = word[2:] or (arguments[place + 1] if place + 1 < len(arguments) else "")
    planted = faults.load()
    last = len(here.gpus) - 1
    gone = [str(gpu.slot.address) for gpu in here.gpus if planted.hits(faults.OFF_BUS, gpu.index, last)]
    shown = [one for one in functions(here, gone) if _matches(one, values["s"], values["d"])]
    # lspci writes the domain of all as soon as one is not in domain 0.
    domains = "D" in letters or any(one.at.domain for one in shown)
    for one in shown:
        at = str(one.at) if domains else str(one.at).split(":", 1)[1]
        rows = [f"{at} {_name(one, letters.count('n'))}"]
        if "v" in letters:
            rows += _verbose(one, planted, letters.count("v"))
        elif "k" in letters:
            rows.append(f"\tKernel driver in use: {one.driver}")
        sys.stdout.write("\n".join(rows) + "\n")
    return 0
