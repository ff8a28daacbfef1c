"""Ports and networks as merged intervals, so that two ways to write the same set are equal."""

import ipaddress
from collections.abc import Iterable, Sequence

from qops.errors import UsageError

Interval = tuple[int, int]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def ports(said: Iterable[object], name: str) -> tuple[Interval, ...]:
    """Return ports (`8000`, `"8000-8009"`) merged. UsageError, which names the variable, for what is no port."""
    found = []
    for one in said:
        first, _, last = str(one).strip().partition("-")
        numbers = [int(n) if n.strip().isascii() and n.strip().isdigit() else 0 for n in (first, last or first)]
        if isinstance(one, bool) or not 1 <= numbers[0] <= numbers[1] <= 65535:
            raise UsageError(f"{name} has {one!r}, which is no port", 'give numbers from 1 to 65535, or "8000-8009"')
        found.append((numbers[0], numbers[1]))
    return merged(found)


def networks(said: Iterable[object], name: str) -> tuple[Network, ...]:
    """Return networks, IPv4 before IPv6, without those that lie in others. UsageError for what is no network."""
    found: list[Network] = []
    for one in said:
        try:
            found.append(ipaddress.ip_network(str(one).strip(), strict=False))
        except ValueError:
            raise UsageError(
                f"{name} has {one!r}, which is no network", "give addresses: 192.0.2.0/24, 2001:db8::/64, 192.0.2.7"
            ) from None
    v4 = ipaddress.collapse_addresses(n for n in found if isinstance(n, ipaddress.IPv4Network))
    v6 = ipaddress.collapse_addresses(n for n in found if isinstance(n, ipaddress.IPv6Network))
    return (*v4, *v6)


def elements(printed: Sequence[str]) -> tuple[Interval, ...]:
    """Return the elements of a set as nft prints them (`8000-8009`, `10.0.0.0/8`), merged; () for what is neither."""
    found = []
    for one in printed:
        first, _, last = one.partition("-")
        try:
            if first.isdigit():
                found.append((int(first), int(last or first)))
                continue
            begin = ipaddress.ip_network(first)
            end = ipaddress.ip_network(last) if last else begin
        except ValueError:
            return ()
        found.append((int(begin.network_address), int(end.broadcast_address)))
    return merged(found)


def intervals(wanted: Iterable[Network]) -> tuple[Interval, ...]:
    """Return networks of one family as intervals of their numbers."""
    return merged([(int(n.network_address), int(n.broadcast_address)) for n in wanted])


def merged(given: Iterable[Interval]) -> tuple[Interval, ...]:
    """Return intervals in order, those that touch put together."""
    found: list[Interval] = []
    for begin, end in sorted(given):
        if found and begin <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return tuple(found)


def told(given: Iterable[Interval]) -> tuple[str, ...]:
    """Return port intervals as a person writes them."""
    return tuple(str(begin) if begin == end else f"{begin}-{end}" for begin, end in given)


def holds(given: Iterable[Interval], number: int) -> bool:
    """Return whether an interval holds `number`."""
    return any(begin <= number <= end for begin, end in given)
