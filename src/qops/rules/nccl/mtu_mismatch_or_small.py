"""NCL024: the MTU differs between the ends, or is the default on a fast link."""

from collections.abc import Iterator

from qops.data.messages import rdma
from qops.evidence.message import Logs, quotes
from qops.evidence.network import Interface, Network
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule

DEFAULT = 1500  # bytes: Ethernet's own
JUMBO = 4200  # bytes: a RoCE payload of 4096 and its headers fit from here on


@rule(
    "NCL024",
    "mtu-mismatch-or-small",
    severity=Severity.WARNING,
    explains=(
        "ib-completion-error",
        "nccl-error",
        "watchdog-timeout",
    ),
    fix=(
        Fix(
            "set the same MTU (9000) on both ends, on every port of the link and on the switch between",
            commands=("ip -o link | grep -o '^[^@]*: [^ ]*\\|mtu [0-9]*'", "ping -c 3 -M do -s 8972 PEER"),
            risk="a link that changes its MTU is down for a moment",
            variable="rdma_network_mtu",
            tag="rdma_network",
        ),
    ),
)
def mtu_mismatch_or_small(logs: Logs, network: Network | None) -> Iterator[Found | RuledOut]:
    """MTU differs between the ends, or is the default on a fast link."""
    too_long = logs.find(rdma.MTU_TOO_LONG)
    errors = logs.find(rdma.IB_COMPLETION)
    pairs = {h.groups["mtu"]: h.quote for h in logs.find(rdma.IB_QUEUE_PAIR)}
    ports = _rdma_ports(network)
    small = [i for i in ports if i.mtu is not None and i.mtu <= DEFAULT]
    large = [i for i in ports if i.mtu is not None and i.mtu >= JUMBO]
    if too_long:
        sizes = next((h.groups.get("path") or h.groups.get("mtu") for h in too_long), "")
        yield Found(
            "link",
            f"a packet of the wanted size does not pass: the path carries {sizes} bytes",
            (*quotes(too_long, 2), *(i.quote for i in small[:1])),
            Confidence.CERTAIN,
        )
    elif len(pairs) > 1:
        sizes = " and ".join(str(128 << int(m)) for m in sorted(pairs))
        yield Found(
            "link",
            f"connections of one job use RDMA MTUs of {sizes} bytes",
            (*list(pairs.values())[:2], *quotes(errors, 1)),
            Confidence.LIKELY if errors else Confidence.POSSIBLE,
            role=None if errors else Role.CONTRIBUTING,
        )
    elif small and large:
        yield Found(
            f"interfaces {small[0].name} and {large[0].name}",
            f"MTU {small[0].mtu} on one and {large[0].mtu} on the other port of the RDMA network",
            (small[0].quote, large[0].quote, *quotes(errors, 1)),
            Confidence.LIKELY if errors else Confidence.POSSIBLE,
            role=None if errors else Role.CONTRIBUTING,
        )
    elif any(h.groups["status"] == "1" for h in errors):
        first = next(h for h in errors if h.groups["status"] == "1")
        yield Found(
            "link",
            "a message was longer than its receiver takes (status 1), as between ends with different MTUs",
            (first.quote, *(i.quote for i in ports[:1])),
            Confidence.POSSIBLE,
        )
    elif narrow := logs.find(rdma.RDMA_MTU):
        yield Found(
            "link",
            "RDMA sends 1024 bytes at a time, which is what Ethernet's default MTU leaves",
            (*quotes(narrow, 2), *(i.quote for i in small[:1])),
            Confidence.LIKELY,
            role=Role.CONTRIBUTING,
        )
    elif small:
        yield Found(
            f"interface {small[0].name}",
            f"it carries RoCE with the default MTU of {small[0].mtu}, so that RDMA sends 1024 bytes at a time",
            (small[0].quote,),
            Confidence.POSSIBLE,
            role=Role.CONTRIBUTING,
        )


def _rdma_ports(network: Network | None) -> list[Interface]:
    names = {g.interface for g in (network.gids if network else ()) if g.interface}
    names |= {interface for _, interface in (network.rdma if network else ())}
    return [i for i in (network.interfaces if network else ()) if i.name in names and i.up is not False]
