"""The variables of the role rdma_network, checked."""

import ipaddress
import re
from dataclasses import dataclass

from qops.errors import UsageError
from qops.inventory.host import is_true
from qops.plans.base import Options

DEFAULTS = {
    "manage": True,
    "hosts": [],
    "host": "",
    "subnets": ["192.168.200.0/24", "192.168.201.0/24", "192.168.202.0/24", "192.168.203.0/24"],
    "addresses": {},
    "replace_addresses": False,
    "mtu": "auto",
    "hca": "auto",
    "gid_index": "auto",
    "socket_interface": "auto",
    "wait": 60,
}
_NAME = re.compile(r"[\w.@:-]{1,60}")
_MTU = (1280, 9978)  # bytes: IPv6's smallest, and what a ConnectX-7 takes at most


@dataclass(frozen=True, slots=True)
class Chosen:
    """The variables as values of their own types."""

    hosts: tuple[str, ...]
    host: str
    subnets: tuple[ipaddress.IPv4Network, ...]
    addresses: dict[str, str]
    replace: bool
    mtu: str
    hca: str
    gid_index: str
    socket: str
    wait: int


def checked(options: Options) -> Chosen:
    """Return the variables. UsageError for one that cannot be."""
    hosts = tuple(str(h) for h in options["hosts"])
    if len(set(hosts)) != len(hosts):
        raise UsageError("rdma_network_hosts names a host twice", "each host once: its place gives its address")
    subnets, addresses = _networks(options)
    for n, one in enumerate(subnets):
        if any(one.overlaps(other) for other in subnets[:n]):
            raise UsageError(f"rdma_network_subnets: {one} overlaps another", "each rail needs a subnet of its own")
        if one.num_addresses < len(hosts) + 2:
            raise UsageError(f"rdma_network_subnets: {one} has no room for {len(hosts)} hosts", "give a wider one")
    mtu, hca, socket = (str(options[name]) for name in ("mtu", "hca", "socket_interface"))
    if mtu not in ("auto", "leave") and not (mtu.isdecimal() and _MTU[0] <= int(mtu) <= _MTU[1]):
        raise UsageError(f"rdma_network_mtu cannot be {mtu!r}", f"auto, leave, or {_MTU[0]} to {_MTU[1]} bytes")
    if not all(_NAME.fullmatch(part) for part in (*hca.split(","), socket)):
        raise UsageError(f"rdma_network_hca {hca!r} or _socket_interface {socket!r} is no name", "as mlx5_0,mlx5_1")
    gid, wait = str(options["gid_index"]), str(options["wait"])
    if gid not in ("auto", "leave"):
        raise UsageError(f"rdma_network_gid_index cannot be {gid!r}", "auto or leave: a number is another one tomorrow")
    if not wait.isdecimal():
        raise UsageError(f"rdma_network_wait cannot be {wait!r}", "give seconds")
    replace = is_true(options["replace_addresses"])
    return Chosen(hosts, str(options["host"]), subnets, addresses, replace, mtu, hca, gid, socket, int(wait))


def _networks(options: Options) -> tuple[tuple[ipaddress.IPv4Network, ...], dict[str, str]]:
    try:
        subnets = tuple(ipaddress.IPv4Network(str(s)) for s in options["subnets"])
        addresses = {str(i): str(ipaddress.IPv4Interface(str(a))) for i, a in dict(options["addresses"]).items()}
    except (ValueError, TypeError) as error:
        hint = "as 192.168.200.0/24, and {enp1s0f0np0: 192.168.200.5/24}"
        raise UsageError(f"rdma_network_subnets or rdma_network_addresses: {error}", hint) from None
    return subnets, addresses
