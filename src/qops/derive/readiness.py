"""What a host's disks, clock and network mean for what is to be done with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from qops.evidence.readiness import Clock, Contact, Contacts, Disks

Target = tuple[str, int, bool]
"""A name, a port, and whether it is spoken to by TLS."""

GB = 1_000_000_000
FULL = 2 * GB  # below it packages cannot be installed
WRONG_CLOCK = 30  # seconds, of which a slow look takes some
NO_CLOCK = 86_400  # seconds: certificates and lists of packages are then not valid yet, or no more


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found: told in a few words, and what to mind, if anything. `grave` keeps the roles from going on."""

    value: str
    because: str
    note: str = ""
    grave: bool = False


def target(url: str) -> Target | None:
    """Return where a URL, or a registry's `name:port`, leads; None for what is no address."""
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host or " " in host:
        return None
    return host, port or (443 if parts.scheme == "https" else 80), parts.scheme == "https"


def space(disks: Disks, needed: Mapping[str, tuple[float, str]]) -> dict[str, Judged]:
    """Return for each path of `needed` (gigabytes, and what for) how much is free there."""
    found: dict[str, Judged] = {}
    for path, (gigabytes, purpose) in needed.items():
        disk = disks.of(path)
        if disk is None:
            found[path] = Judged("on the network", f"{purpose}; how much is free there was not asked")
            continue
        free = disk.available / GB
        told = f"{free:,.0f} GB free on {disk.mount}"
        if disk.available < FULL:
            note = f"{path} is full ({free:,.1f} GB free on {disk.mount}): nothing can be installed; free some space"
            found[path] = Judged(told, purpose, note, grave=True)
        elif free < gigabytes:
            note = f"{path} has {free:,.0f} GB free, and {purpose} take about {gigabytes:,.0f} GB"
            found[path] = Judged(told, purpose, note)
        else:
            found[path] = Judged(told, purpose)
    return found


def clock(seen: Clock) -> Judged:
    """Return how right the host's clock is."""
    kept = {True: "kept right", False: "nothing keeps it right", None: "whether it is kept right was not seen"}
    because = f"{kept[seen.synchronized]}; certificates, package lists and logs are judged by it"
    if seen.ahead is None:
        return Judged("not compared", because)
    off = abs(seen.ahead)
    way = "ahead of" if seen.ahead > 0 else "behind"
    if off < WRONG_CLOCK:
        return Judged("right", because)
    told = f"{off:,} s {way} the controller's"
    return Judged(told, because, f"the clock is {told}: set it, then `timedatectl set-ntp true`", grave=off > NO_CLOCK)


def reached(contacts: Contacts, wanted: Sequence[Target]) -> dict[str, Judged]:
    """Return for each address whether it answers, IPv4 and IPv6 told apart."""
    found: dict[str, Judged] = {}
    for host, port, _ in wanted:
        tried = [one for one in contacts.contacts if (one.host, one.port) == (host, port)]
        found[f"{host}:{port}"] = _reached(host, tried, contacts.proxy)
    return found


def _reached(host: str, tried: Iterable[Contact], proxy: str) -> Judged:
    reasons = {one.family: one.reason for one in tried}
    good = [family for family, reason in reasons.items() if not reason]
    if not reasons:
        return Judged("not seen", "the host did not say whether it reaches it", f"{host} was not tried", grave=True)
    if good:
        bad = {f: r for f, r in reasons.items() if r not in ("", "no address", "network is unreachable")}
        value = f"reached over {' and '.join(good)}"
        if not bad:
            return Judged(value, "the inventory names it")
        (family, reason), *_ = bad.items()
        note = (
            f"{host} answers over {good[0]} and not over {family} ({reason}): programs that try {family} first hang "
            f"there for minutes; mend {family}, or take its route away"
        )
        return Judged(value, "the inventory names it", note)
    if set(reasons.values()) == {"no address"}:
        told = "its name has no address here"
    else:
        told = ", ".join(f"{family}: {reason}" for family, reason in reasons.items())
    through = f"; a proxy is set ({proxy}), which may reach it" if proxy else ""
    return Judged("not reached", told, f"{host} is not reached ({told}){through}", grave=not proxy)
