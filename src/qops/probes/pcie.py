"""The PCIe tree: `lspci` with any of -v to -vvv, -nn, -D, whole or in excerpts, and lines dumped from sysfs."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from qops.evidence.pcie import PcieDevice, PcieTree
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.prefix import LONGEST, strip

_HEAD = lazy(
    r"\s*(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"([A-Z0-9][\w ()/.-]{2,60}?)(?: \[([0-9a-f]{4})\])?: (\S.{0,300})",
    re.ASCII,
)
_BUSES = lazy(r"\bBus: primary=[0-9a-f]{2}, secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})", re.ASCII)
_CAPABLE = lazy(r"\bLnkCap:\s.{0,80}?Speed ([^,]{1,30}), Width x([0-9]{1,2})", re.ASCII)
_STATUS = lazy(r"\bLnkSta:\sSpeed ([^,]{1,30}), Width x([0-9]{1,2})", re.ASCII)
_STATUS_SPACED = lazy(r"\bLnkSta:\s+Speed ([^,]{1,30}), Width x([0-9]{1,2})", re.ASCII)
_SPEED = lazy(r"([0-9]{1,3}(?:\.[0-9]{1,2})?) ?GT/s", re.ASCII)
_ACS = lazy(r"\bACSCtl:\s*((?:[A-Z][A-Za-z]{2,20}[+-][\s,]*){1,10})", re.ASCII)
_DRIVER = lazy(r"\bKernel driver in use: ([\w-]{1,60})", re.ASCII)
_SWITCH_MANAGER = "SMDL=SW_MNG"  # in the vital product data of a ConnectX-7, which root alone sees
_NUMA = lazy(r"\bNUMA node: ([0-9]{1,4})\b", re.ASCII)
# As `echo $d $(cat $d/class $d/device $d/current_link_speed $d/current_link_width $d/max_link_speed
# $d/max_link_width $d/numa_node)` prints it for NVIDIA's functions.
_SYSFS = lazy(
    r"\s*/sys/bus/pci/devices/([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) 0x([0-9a-f]{6}) 0x([0-9a-f]{4})"
    r"(?: (\S{1,10})(?: GT/s)?(?: PCIe)? ([0-9]{1,3}) (\S{1,10})(?: GT/s)?(?: PCIe)? ([0-9]{1,3}))?"
    r"(?: (-?[0-9]{1,4}))?\s*",
    re.ASCII,
)
# PCI class codes (pci.ids), as far as this tree tells them apart.
_CLASSES = {
    "0300": "VGA compatible controller",
    "0302": "3D controller",
    "0380": "Display controller",
    "0403": "Audio device",
    "0600": "Host bridge",
    "0604": "PCI bridge",
    "0680": "Bridge",
}
# Words of the class names in pci.ids; a log line that begins with 12:34.5 is no device.
_CLASS = lazy(
    r"[Bb]ridge|controller|[Dd]evice|accelerator|[Cc]o-processor|[Mm]emory|peripheral|IOMMU|SMBus|[Cc]lass|"
    r"Instrumentation|counters|PIC|[0-9a-f]{4}"
)
# What `_SYSFS` reads, for NVIDIA's functions. QOPS_ROOT shows another machine's /sys in place of this one's.
_DUMP = """\
[ -d "$QOPS_ROOT/sys/bus/pci/devices" ] || QOPS_ROOT=
cd "$QOPS_ROOT/sys/bus/pci/devices" || exit 0
for d in *; do
  read -r vendor <"$d/vendor" && [ "$vendor" = 0x10de ] && read -r class <"$d/class" && read -r id <"$d/device" &&
    echo "/sys/bus/pci/devices/$d $class $id"
done 2>/dev/null
true
"""
CLUE = lazy(r"ACSCtl:|LnkSta:|LnkCap:|/sys/bus/pci/devices/[0-9a-f]{4,8}:\S{7} 0x", re.ASCII)


def parse(texts: Sequence[Text]) -> PcieTree | None:
    """Return every function that any text describes; those without an address stay apart."""
    known: dict[str, PcieDevice] = {}
    loose: list[PcieDevice] = []
    for text in texts:
        for device in (*_listed(text), *_dumped(text)):
            if not device.address:
                loose.append(device)
            elif device.address in known:
                known[device.address] = _fill(known[device.address], device)
            else:
                known[device.address] = device
    return PcieTree((*known.values(), *loose)) if known or loose else None


def _fill(device: PcieDevice, other: PcieDevice) -> PcieDevice:
    """Return `device` with what is missing taken from `other`."""
    missing: dict[str, Any] = {
        name: getattr(other, name)
        for name in device.__struct_fields__
        if getattr(device, name) in (None, "", (), False)
    }
    return replace(device, **missing)


def _listed(text: Text) -> Iterator[PcieDevice]:
    device: PcieDevice | None = None
    for index, raw in enumerate(text.lines):
        line = strip(raw)
        head = _head(line)
        if head:
            if device is not None:
                yield device
            device = _device(text, index, head)
            continue
        found = _detail(text, index, line)
        if not found:
            continue
        if device is None and not found.keys() & {"acs", "speed", "speed_max"}:
            continue  # too little to be a function of its own
        if device is None or (not device.address and any(getattr(device, name) not in (None, ()) for name in found)):
            # An excerpt without address: what repeats belongs to another function.
            if device is not None:
                yield device
            device = PcieDevice("", "", "", text.quote(index), bridge="acs" in found)
        values = {name: value for name, value in found.items() if getattr(device, name) in (None, (), "")}
        device = replace(device, **values)
        if "secondary" in found or (not device.address and "acs" in found):
            device = replace(device, bridge=True)
    if device is not None:
        yield device


def _head(line: str) -> re.Match[str] | None:
    """Return the first line of a function, when `line` is one."""
    found = _HEAD.fullmatch(line.rstrip())
    return found if found and (found[4] or _CLASS.search(found[3])) else None


def _device(text: Text, index: int, head: re.Match[str]) -> PcieDevice:
    kind = _CLASSES.get(head[4] or head[3], head[3])
    name = re.sub(r" \(prog-if .*", "", head[5])[:120]
    nvidia = "NVIDIA" in name or "10de:" in name
    address = f"{head[1] or '0000'}:{head[2]}"
    return PcieDevice(address, kind, name, text.quote(index), bridge=kind == "PCI bridge", nvidia=nvidia)


def _detail(text: Text, index: int, line: str) -> dict[str, Any]:
    """Return what one line says, by the fields of `PcieDevice`."""
    if "Lnk" in line:
        capable = _CAPABLE.search(line)
        if capable:
            return {"speed_max": _speed(capable[1]), "width_max": int(capable[2])}
        status = _STATUS.search(line) or _STATUS_SPACED.search(line)
        if status:
            return {"speed": _speed(status[1]), "width": int(status[2]), "link_quote": text.quote(index)}
    elif "ACSCtl:" in line:
        acs = _ACS.search(line)
        if acs:
            bits = tuple(bit[:-1] for bit in re.split(r"[\s,]+", acs[1]) if bit.endswith("+"))
            return {"acs": bits, "acs_quote": text.quote(index)}
    elif "Bus: primary=" in line:
        buses = _BUSES.search(line)
        if buses:
            return {"secondary": int(buses[1], 16), "subordinate": int(buses[2], 16)}
    elif _SWITCH_MANAGER in line:
        return {"switch_manager": True}
    elif "Kernel driver" in line:
        driver = _DRIVER.search(line)
        if driver:
            return {"driver": driver[1]}
    elif "NUMA node:" in line:
        numa = _NUMA.search(line)
        if numa:
            return {"numa": int(numa[1])}
    return {}


def _speed(text: str) -> float | None:
    found = _SPEED.search(text)
    return float(found[1]) if found else None


def _dumped(text: Text) -> Iterator[PcieDevice]:
    for index, line in enumerate(text.lines):
        found = _SYSFS.fullmatch(line) if "/sys/bus/pci/devices/" in line and len(line) < 300 else None
        if not found:
            continue
        kind = _CLASSES.get(found[2][:4], f"class {found[2][:4]}")
        numa = int(found[8]) if found[8] else -1
        yield PcieDevice(
            address=found[1],
            kind=kind,
            name=f"NVIDIA Corporation Device {found[3]}",
            quote=text.quote(index),
            bridge=kind == "PCI bridge",
            nvidia=True,
            speed=_speed(f"{found[4]} GT/s"),
            width=_lanes(found[5]),
            speed_max=_speed(f"{found[6]} GT/s"),
            width_max=_lanes(found[7]),
            link_quote=text.quote(index) if found[4] else None,
            numa=numa if numa >= 0 else None,
        )


def _lanes(text: str | None) -> int | None:
    """Return a width; sysfs prints 0 or 255 for none."""
    width = int(text) if text else 0
    return width if 0 < width <= 32 else None


def recognise(text: Text) -> bool:
    """Whether a line is one of lspci's, or of the dump."""
    return any(CLUE.search(line[:LONGEST]) or _head(strip(line)) for line in text.lines)


PROBE = Probe(
    name="pcie",
    makes=PcieTree,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("lspci", "-D", "-vvv"),
            "links, bridges and Access Control Services of every PCIe function; only root sees the latter",
            timeout=15.0,
            root=True,
        ),
        Command(
            ("sh", "-c", _DUMP),
            "the NVIDIA functions, also where neither a driver nor lspci is installed",
            name="PCI functions of NVIDIA",
        ),
    ),
)
