"""The files that give RDMA interfaces their addresses, for each program that configures a network."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

NETPLAN_FILE = "/etc/netplan/40-cx7.yaml"  # the name that NVIDIA's Spark playbooks use, so there is never a second one
NETWORKD_FILE = "/etc/systemd/network/40-qops-{}.network"
KEYFILE = "/etc/NetworkManager/system-connections/qops-{}.nmconnection"
HEAD = "# Written by Ansible: {}.\n"
_SPACE = uuid.UUID("5f0c2a52-3a0e-4c0a-9d0e-5b1f6d5f6b11")  # of the connections' ids, so that they never change


@dataclass(frozen=True, slots=True)
class File:
    """A file as it should be."""

    dest: str
    content: str
    mode: str
    group: str = "root"


def files(manager: str, planned: Mapping[str, str], mtu: int | None, mark: str) -> tuple[File, ...]:
    """Return the files for `manager` (netplan, NetworkManager, systemd-networkd) that give each interface its address.

    `mtu` in bytes; None leaves it. `mark` says whose files they are.
    """
    if not planned:
        return ()
    if manager == "netplan":
        return (File(NETPLAN_FILE, _netplan(planned, mtu, mark), "0600"),)
    if manager == "NetworkManager":
        return tuple(File(KEYFILE.format(i), _keyfile(i, a, mtu, mark), "0600") for i, a in planned.items())
    return tuple(File(NETWORKD_FILE.format(i), _networkd(i, a, mtu, mark), "0644") for i, a in planned.items())


def _netplan(planned: Mapping[str, str], mtu: int | None, mark: str) -> str:
    text = HEAD.format(mark) + "network:\n  version: 2\n  ethernets:\n"
    for interface, address in planned.items():
        text += (
            f"    {interface}:\n      dhcp4: false\n      dhcp6: false\n      link-local: []\n      optional: true\n"
        )
        text += f"      mtu: {mtu}\n" if mtu else ""
        text += f"      addresses: [{address}]\n"
    return text


def _networkd(interface: str, address: str, mtu: int | None, mark: str) -> str:
    text = HEAD.format(mark) + f"[Match]\nName={interface}\n\n[Link]\nRequiredForOnline=no\n"
    text += f"MTUBytes={mtu}\n" if mtu else ""
    return text + f"\n[Network]\nAddress={address}\nLinkLocalAddressing=no\nDHCP=no\nIPv6AcceptRA=no\n"


def _keyfile(interface: str, address: str, mtu: int | None, mark: str) -> str:
    text = HEAD.format(mark) + f"[connection]\nid=qops-{interface}\nuuid={uuid.uuid5(_SPACE, interface)}\n"
    text += f"type=ethernet\ninterface-name={interface}\nautoconnect-priority=100\n\n[ethernet]\n"
    text += f"mtu={mtu}\n" if mtu else ""
    return text + f"\n[ipv4]\nmethod=manual\naddress1={address}\nnever-default=true\n\n[ipv6]\nmethod=disabled\n"
