"""Network interfaces of the simulated RDMA ports: real ones of the kernel, whose addresses the GID tables follow.

Each is one end of a pair; the other end, `portN`, stands for the plug. No packet of RDMA passes, and no cable joins
hosts: an address can be set and seen, and a peer's cannot be reached.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import subprocess
from pathlib import Path

from . import store, sysfs
from .hardware import Hardware, Nic
from .tree import Tree

_GET_ADDRESS = 0x8915  # SIOCGIFADDR of linux/sockios.h


def _ip(*words: str) -> bool:
    try:
        return subprocess.run(["ip", *words], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def make(here: Hardware) -> list[str]:
    """Make the interfaces that are missing, linked as the scenario says; return what could not be made."""
    if store.system() != Path("/"):  # a test's folder, and no host
        return []
    problems = []
    for nic in here.nics:
        if nic.infiniband or Path("/sys/class/net", nic.netdev).exists():
            continue
        plug = f"port{nic.index}"
        made = _ip("link", "add", nic.netdev, "address", sysfs.mac(nic), "type", "veth", "peer", "name", plug)
        if not made:
            problems.append(f"no interface {nic.netdev}: this machine lets hosts make none")
            continue
        _ip("link", "set", nic.netdev, "up")
        if nic.up:
            _ip("link", "set", plug, "up")
        if nic.ip:  # whoever gave it an address has set its MTU as well
            _ip("link", "set", nic.netdev, "mtu", str(sysfs.mtu(nic)))
            _ip("address", "add", f"{nic.ip}/24", "dev", nic.netdev)
    return problems


def address(name: str) -> str | None:
    """Return the first IPv4 address of an interface, "" where it has none, None where there is no interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            found = fcntl.ioctl(probe, _GET_ADDRESS, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return "" if Path("/sys/class/net", name).exists() else None
    return socket.inet_ntoa(found[20:24])


def follow(tree: Tree, nics: tuple[Nic, ...], known: dict[str, str]) -> None:
    """Write the GID tables of ports whose interface has another address than is `known`, and note it there."""
    for nic in nics:
        now = None if nic.infiniband else address(nic.netdev)
        if now is not None and known.get(nic.netdev) != now:
            sysfs.gid_table(tree, nic, now)
            known[nic.netdev] = now
