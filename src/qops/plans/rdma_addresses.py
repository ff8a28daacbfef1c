"""Addresses and MTU of RDMA interfaces: what the role rdma_network gives, keeps and leaves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qops.derive import rdma_network
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State, setting
from qops.evidence.network import Network, NetworkConfig, RdmaPort
from qops.plans.rdma_options import Chosen

_REPLACE = "rdma_network_replace_addresses: true gives each its own that stays"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The address that each linked interface should have, and those that the role keeps in files of its own."""

    wanted: dict[str, str]
    mine: dict[str, str]
    settings: tuple[Setting, ...]
    refused: tuple[str, ...]
    notes: tuple[str, ...]


def kept_by_us(config: NetworkConfig) -> dict[str, str]:
    """Return the addresses in the role's own files, by interface."""
    return {interface: address for f in config.files if f.ours for interface, address in f.addresses.items()}


def addresses(
    chosen: Chosen, hardware: HardwareClass, ports: Sequence[RdmaPort], network: Network | None, config: NetworkConfig
) -> Addresses:
    """Return the addresses of linked ports. What has one keeps it, unless the inventory names another for it."""
    planned, refused = _planned(chosen, hardware, ports, network)
    ours = kept_by_us(config)
    settings: list[Setting] = []
    wanted: dict[str, str] = {}
    # The file of a port whose cable is out stays: the cable will come back.
    mine = {i: a for i, a in ours.items() if i not in {p.interface for p in ports}}
    for port in ports:
        name = port.interface
        key, has = f"address of {name}", rdma_network.addresses(network, name)
        address = planned.get(name, "")
        keeps = bool(has) and name not in chosen.addresses and not (chosen.replace and address)
        if has is None:
            settings.append(Setting(key, "", address, "", State.UNSEEN, "the interface was not seen"))
        elif keeps and address not in has:
            wanted[name] = has[0]
            settings.append(setting(key, has[0], has[0], "it has this address already, which is kept"))
        elif address:
            wanted[name] = address
            because = "the inventory says so" if name in chosen.addresses else "each rail in a subnet of its own"
            settings.append(setting(key, address, address if address in has else ", ".join(has), because))
        else:
            settings.append(Setting(key, "", "", "", State.LEFT, _why_none(hardware)))
        if name in wanted and (name in ours or wanted[name] not in (has or ())):
            mine[name] = wanted[name]
    clash = rdma_network.conflicts({i: a for i, a in mine.items() if i in wanted}, network)
    return Addresses(wanted, mine, tuple(settings), (*refused, *clash), _notes(hardware, ports, wanted))


def _why_none(hardware: HardwareClass) -> str:
    if hardware is HardwareClass.SPARK:
        return "nobody says which hosts it is cabled to (rdma_network_hosts)"
    return "addresses of this class of host are its owner's (rdma_network_addresses)"


def _planned(
    chosen: Chosen, hardware: HardwareClass, ports: Sequence[RdmaPort], network: Network | None
) -> tuple[dict[str, str], list[str]]:
    unknown = [i for i in chosen.addresses if i not in {p.interface for p in ports}]
    refused = [f"rdma_network_addresses: {i} is no linked RDMA interface of this host" for i in unknown]
    planned: dict[str, str] = {}
    if chosen.hosts and hardware is HardwareClass.SPARK:
        if chosen.host not in chosen.hosts:
            names = ", ".join(chosen.hosts)
            refused.append(f"rdma_network_host is {chosen.host!r}, which is not in rdma_network_hosts ({names})")
        elif len(ports) > len(chosen.subnets):
            refused.append(
                f"{len(ports)} ports are linked and rdma_network_subnets has {len(chosen.subnets)}: one each"
            )
        else:
            number = chosen.hosts.index(chosen.host) + 1
            if not chosen.replace:  # a host that has an address in one of the subnets has its number already
                number = rdma_network.number_in(chosen.subnets, ports, network) or number
            planned = rdma_network.plan_addresses(ports, chosen.subnets, number)
    return {**planned, **{i: a for i, a in chosen.addresses.items() if i not in unknown}}, refused


def _notes(hardware: HardwareClass, ports: Sequence[RdmaPort], wanted: Mapping[str, str]) -> tuple[str, ...]:
    notes = [
        f"{i} has a link-local address, which may change with a reboot: {_REPLACE}"
        for i, a in wanted.items()
        if a.startswith("169.254.")
    ]
    for a, b in rdma_network.twins(ports) if hardware is HardwareClass.SPARK else ():
        both = rdma_network.same_subnet(*([wanted[p.interface]] if p.interface in wanted else [] for p in (a, b)))
        if both:
            notes.append(
                f"{a.interface} and {b.interface} are both in {both}, so replies may go the other way: {_REPLACE}"
            )
    return tuple(notes)


def mtus(
    chosen: Chosen, ports: Sequence[RdmaPort], found: Addresses, network: Network | None, config: NetworkConfig
) -> tuple[Setting, ...]:
    """Return the MTU of each interface that has or gets an address."""
    settings = []
    ours = kept_by_us(config)
    for port in (p for p in ports if p.interface in found.wanted):
        key, now = f"MTU of {port.interface}", rdma_network.mtu(network, port.interface)
        shown = "" if now is None else str(now)
        value = str(rdma_network.MTU) if chosen.mtu == "auto" else chosen.mtu
        because = "RDMA sends 4096 bytes at a time only where they fit" if chosen.mtu == "auto" else "asked for"
        others = port.interface not in found.mine and port.interface not in ours
        if chosen.mtu == "leave":
            settings.append(Setting(key, "", "", shown, State.LEFT, "the inventory says so"))
        elif others and shown != value:
            because = f"a file that is not qops's configures it: set its MTU of {value} there"
            settings.append(Setting(key, "", "", shown, State.LEFT, because))
        else:
            settings.append(setting(key, value, shown or None, because))
    return tuple(settings)
