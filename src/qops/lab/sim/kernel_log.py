"""The simulated `dmesg`: a boot's driver lines, and those of planted faults."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from . import NOTICE, clock, driver, faults, hardware, passthrough, store, topology
from .hardware import Hardware


@dataclass(frozen=True)
class Entry:
    """One line; `at` in seconds since boot."""

    at: float
    text: str
    level: str = "info"


def _boot(here: Hardware, planted: faults.Faults) -> list[Entry]:
    kernel = faults.kernel(planted, here.kernel)
    cmdline = store.read_line(store.root() / "proc/cmdline") or here.cmdline
    entries = [
        Entry(0.0, f"Linux version {kernel} (buildd@lcy02-amd64-046) #1 SMP PREEMPT_DYNAMIC"),
        Entry(0.0, "Command line: " + cmdline),
        Entry(0.184, f"smpboot: Allowing {topology.cpu_count(here)} CPUs, 0 hotplug CPUs"),
        Entry(
            2.553, "iommu: Default domain type: " + ("Passthrough" if here.raw.get("iommu") == "pt" else "Translated")
        ),
    ]
    if here.nics:
        entries += [
            Entry(3.1 + 0.2 * nic.index, f"mlx5_core {nic.slot.address}: firmware version: 28.45.4028")
            for nic in here.nics
        ]
    if driver.absent(here, planted):
        return entries
    version = driver.installed(here, "module")
    entries += [
        Entry(7.971672, "nvidia: loading out-of-tree module taints kernel."),
        Entry(7.971679, "nvidia: module verification failed: signature and/or required key missing - tainting kernel"),
        Entry(8.043688, "nvidia-nvlink: Nvlink Core is being initialized, major device number 510"),
    ]
    entries += [
        Entry(8.0636 + 0.01 * gpu.index, f"nvidia {gpu.slot.address}: enabling device (0000 -> 0002)")
        for gpu in here.gpus
    ]
    machine = "aarch64" if here.arch == "aarch64" else "x86_64"
    builder = here.raw["driver"].get("builder", "dvs-builder@U22-I3-AM25-28-3")
    entries.append(
        Entry(
            8.3, f"NVRM: loading NVIDIA UNIX Open Kernel Module for {machine}  {version}  Release Build  ({builder})  "
        )
    )
    return entries


def _xid_place(here: Hardware, index: int) -> str:
    at = here.gpus[index].slot.address
    return f"PCI:{at.domain:04x}:{at.bus:02x}:{at.device:02x}"


def _off_bus(here: Hardware, index: int, at: float) -> list[Entry]:
    """Xid 79 as owners quote it, with the recovery action that drivers since 570 add (Xid 154)."""
    gpu, place = here.gpus[index], _xid_place(here, index)
    return [
        Entry(at, f"NVRM: GPU at {place}: {gpu.uuid}", "err"),
        Entry(at, f"NVRM: GPU Board Serial Number: {gpu.serial}", "err"),
        Entry(at, f"NVRM: Xid ({place}): 79, GPU has fallen off the bus.", "err"),
        Entry(at, f"NVRM: GPU {gpu.slot.address}: GPU has fallen off the bus.", "err"),
        Entry(at, f"NVRM: GPU {gpu.slot.address}: GPU serial number is {gpu.serial}.", "err"),
        Entry(
            at,
            f"NVRM: Xid ({place}): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
            "err",
        ),
    ]


def _memory(here: Hardware, index: int, at: float) -> list[Entry]:
    """Return an uncorrectable DRAM error: Xid 48, 63 (row remapping recorded) and 94 (contained).

    Wordings follow NVIDIA's Xid catalogue; the exact tails of 63 and 94 differ by driver.
    """
    gpu, place = here.gpus[index], _xid_place(here, index)
    return [
        Entry(at, f"NVRM: GPU at {place}: {gpu.uuid}", "err"),
        Entry(
            at,
            f"NVRM: Xid ({place}): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) "
            "has been detected on GPU in the framebuffer at partition 3, subpartition 0.",
            "err",
        ),
        Entry(
            at,
            f"NVRM: Xid ({place}): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x0000000000001a40) "
            "marked for remapping, reset gpu to activate.",
            "err",
        ),
        Entry(
            at,
            f"NVRM: Xid ({place}): 94, pid='<unknown>', name=<unknown>, Contained: SM (0x1). RST: No, D-RST: No",
            "err",
        ),
    ]


def entries(here: Hardware, planted: faults.Faults, booted: float) -> list[Entry]:
    """Return the whole log."""
    log = _boot(here, planted)
    # A fault shows up when it was planted, or right after the boot where that was earlier.
    at = max(planted.planted - booted, 30.0)
    last = len(here.gpus) - 1
    for gpu in here.gpus:
        if planted.hits(faults.OFF_BUS, gpu.index, last):
            log += _off_bus(here, gpu.index, at)
        if planted.hits(faults.ECC, gpu.index, 0):
            log += _memory(here, gpu.index, at)
    found = driver.versions(here, planted)
    if found.module and found.module != found.library:
        # One record of several lines: dmesg indents all but the first.
        log.append(
            Entry(
                at,
                f"NVRM: API mismatch: the client has the version {found.library}, but\n"
                f"NVRM: this kernel module has the version {found.module}.  Please\n"
                "NVRM: make sure that this kernel module and all NVIDIA driver\n"
                "NVRM: components have the same version.",
                "err",
            )
        )
    return log


def main(arguments: Sequence[str]) -> int:
    """Answer as dmesg would. The real kernel's log is the machine's under the lab and is not shown."""
    here = hardware.load()
    if here is None:
        return passthrough.real("dmesg", arguments)
    if "--version" in arguments or "-h" in arguments or "--help" in arguments:
        sys.stdout.write(NOTICE + "\ndmesg [-T | -t] [-l LEVELS]\n")
        return 0
    booted = float(store.state().get("booted", clock.now() - 3600))
    short = "".join(word[1:] for word in arguments if word.startswith("-") and not word.startswith("--"))
    human = "T" in short or "--ctime" in arguments
    bare = "t" in short or "--notime" in arguments
    wanted: list[str] = []
    for place, word in enumerate(arguments):
        if word.startswith("--level="):
            wanted = word.split("=", 1)[1].split(",")
        elif word in ("-l", "--level") and place + 1 < len(arguments):
            wanted = arguments[place + 1].split(",")
    for entry in entries(here, faults.load(), booted):
        if wanted and entry.level not in wanted:
            continue
        stamp = time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(booted + entry.at))
        prefix = "" if bare else f"[{stamp}] " if human else f"[{entry.at:12.6f}] "
        first, *others = entry.text.split("\n")
        sys.stdout.write("\n".join([prefix + first, *(" " * len(prefix) + text for text in others)]) + "\n")
    return 0
