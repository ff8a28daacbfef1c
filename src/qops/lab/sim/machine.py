"""`uname` and `lscpu`: the scenario's kernel and processor. `uname -m` stays the machine's, as its programs are."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from . import NOTICE, hardware, passthrough, store, topology

_VENDORS = {"AMD": "AuthenticAMD", "Intel": "GenuineIntel"}


def _helped(tool: str, arguments: Sequence[str]) -> bool:
    if list(arguments) not in (["-h"], ["--help"]):
        return False
    sys.stdout.write(f"{NOTICE}\n{tool}: the scenario's kernel and processor; the rest the real tool says\n")
    return True


def uname(arguments: Sequence[str]) -> int:
    """Answer as the real one, with the simulated kernel's release in place of the machine's."""
    if _helped("uname", arguments):
        return 0
    here = hardware.load()
    if here is None:
        return passthrough.real("uname", arguments)
    status, text = passthrough.output("uname", arguments)
    kernel = store.read_line(store.root() / "proc/sys/kernel/osrelease") or here.kernel
    sys.stdout.write(text.replace(os.uname().release, kernel))
    return status


def lscpu(arguments: Sequence[str]) -> int:
    """Print the summary; other forms are the real tool's, of the machine's own processors."""
    if _helped("lscpu", arguments):
        return 0
    here = hardware.load()
    if here is None or arguments:
        return passthrough.real("lscpu", arguments)
    model = str(here.cpu.get("model", ""))
    count = topology.cpu_count(here)
    rows = {
        "Architecture": here.arch,
        "CPU(s)": count,
        "On-line CPU(s) list": f"0-{count - 1}",
        "Vendor ID": next((vendor for name, vendor in _VENDORS.items() if name in model), "ARM"),
        "Model name": model,
        "Socket(s)": len(here.nodes),
        "NUMA node(s)": len(here.nodes),
        **{f"NUMA node{number} CPU(s)": node for number, node in enumerate(here.nodes)},
    }
    if here.raw.get("virtualization"):
        rows = {**rows, "Hypervisor vendor": "KVM", "Virtualization type": "full"}
    sys.stdout.write("".join(f"{key + ':':<25}{value}\n" for key, value in rows.items()))
    return 0
