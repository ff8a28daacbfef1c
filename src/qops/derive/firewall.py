"""What the firewall should let in, the rules for it, and what stands open without it."""

from collections.abc import Sequence

from msgspec import Struct

from qops.derive import ranges
from qops.derive.ranges import Interval, Network
from qops.evidence.firewall import Firewall, Listener, Listeners

TABLE, PORTS, ALLOW, PUBLISHED = "firewall.rules", "firewall.ports", "firewall.allow", "firewall.published"

# Who listens for a container that publishes a port: Docker's proxy, and those of rootless Podman.
PROXIES = ("docker-proxy", "rootlessport", "pasta", "slirp4netns")
# Names of the processes of engines, and of Ray, as the kernel has them (15 characters).
ENGINES = ("vllm", "VLLM::", "sglang", "llama-server", "ollama", "tritonserver", "raylet", "gcs_server", "trtllm")
# Bridges of container engines: docker0, br-0123456789ab, podman1, cni-podman0.
BRIDGES = ("docker*", "br-*", "podman*", "cni-podman*")


class Wanted(Struct, frozen=True):
    """What the inventory wants of the firewall, checked."""

    ports: tuple[Interval, ...]  # closed to all but `allow`
    allow: tuple[Network, ...]
    open: tuple[Interval, ...]  # published ports that stay open
    inside: tuple[str, ...]  # interfaces from which everything is let in
    ssh: tuple[int, ...]
    published: bool = True  # whether published ports are closed too, whatever their number


def ruleset(wanted: Wanted) -> str:
    """Return the rules as a file for nft. Loading it replaces the table as one step, and touches no other.

    Ports are judged before address translation (priority -150, Docker's is -100), so that one rule covers a port that
    a container publishes and one that a program on the host listens on. A drop there is final: neither Docker, ufw
    nor firewalld can let the packet in again, and an accept here keeps none of them from dropping it.
    """
    from hashlib import sha256  # loads OpenSSL, which the rule about a closed port does not need

    body = _body(wanted)
    digest = sha256(body.encode()).hexdigest()[:16]
    return (
        "# Written by the role firewall of qops: closes the ports of the API. Other tables are not touched.\n"
        "table inet qops\ndelete table inet qops\n"
        f'table inet qops {{\n  comment "qops {digest}"\n{body}}}\n'
    )


def digest(rules: str) -> str:
    """Return the mark in the table's comment that tells which rules it has."""
    return rules.split('comment "qops ', 1)[1][:16]


def _body(wanted: Wanted) -> str:
    ssh = f"    tcp dport {{ {', '.join(str(p) for p in wanted.ssh)} }} accept\n" if wanted.ssh else ""
    # One rule for each: a set of names that end with * takes a newer nft than Ubuntu 22.04 has.
    inside = "\n    ".join(f'iifname "{name}" accept' for name in ("lo", *wanted.inside))
    # One rule for each protocol: otherwise nft up to 1.0.6 does not know that ports are compared.
    stays = "".join(
        f"    meta l4proto {protocol} ct original proto-dst {{ {', '.join(ranges.told(wanted.open))} }} accept\n"
        for protocol in ("tcp", "udp")
        if wanted.open
    )
    published = "".join(f'    oifname "{name}" drop\n' for name in BRIDGES) if wanted.published else ""
    return f"""\
  set ports {{ type inet_service; flags interval; auto-merge;{_elements(ranges.told(wanted.ports))} }}
  set allow4 {{ type ipv4_addr; flags interval; auto-merge;{_elements(_family(wanted.allow, 4))} }}
  set allow6 {{ type ipv6_addr; flags interval; auto-merge;{_elements(_family(wanted.allow, 6))} }}
  chain incoming {{
    type filter hook prerouting priority -150; policy accept;
    {inside}
    ct state established,related accept
{ssh}    ip saddr @allow4 accept
    ip6 saddr @allow6 accept
    fib daddr type local meta l4proto {{ tcp, udp }} th dport @ports drop
  }}
  chain published {{
    type filter hook forward priority -5; policy accept;
    {inside}
    ct state established,related accept
    ct status & dnat != dnat accept
    ip saddr @allow4 accept
    ip6 saddr @allow6 accept
{stays}{published}  }}
"""


def _elements(values: Sequence[str]) -> str:
    return f" elements = {{ {', '.join(values)} }};" if values else ""


def _family(allow: Sequence[Network], version: int) -> tuple[str, ...]:
    return tuple(str(n) for n in allow if n.version == version)


def altered(firewall: Firewall, mark: str, ports: Sequence[Interval], allow: Sequence[Network]) -> str:
    """Return in words how the table is not what the rules with the digest `mark` make it; "" when it is.

    The comment tells which rules were loaded; the sets, and that something is dropped, whether they still hold.
    """
    if not firewall.loaded:
        return "not loaded"
    if firewall.digest != mark:
        return "other rules"
    if ranges.elements(firewall.sets.get("ports", ())) != tuple(ports):
        return "changed by hand: the closed ports"
    for version in (4, 6):
        own = ranges.intervals(n for n in allow if n.version == version)
        if ranges.elements(firewall.sets.get(f"allow{version}", ())) != own:
            return "changed by hand: the allowed networks"
    return "" if firewall.drops else "changed by hand: its rules"


def exposed(listeners: Listeners, ports: Sequence[Interval]) -> tuple[Listener, ...]:
    """Return who takes API connections on every address: on a port of `ports`, an engine, or a published port."""
    seen: dict[tuple[str, int], Listener] = {}
    for one in listeners.listeners:
        if one.everywhere and one.port not in listeners.ssh and (_serves(one) or ranges.holds(ports, one.port)):
            seen.setdefault((one.protocol, one.port), one)
    return tuple(seen.values())


def published(listener: Listener) -> bool:
    """Return whether a container publishes the port, so that Docker's rules decide and INPUT does not."""
    return listener.process.startswith(PROXIES)


def filtered(listener: Listener, firewall: Firewall) -> bool:
    """Return whether somebody else may filter the port: for a published one only rules in Docker's own chain can."""
    return firewall.docker_user if published(listener) else bool(firewall.others)


def _serves(listener: Listener) -> bool:
    return published(listener) or listener.process.startswith(ENGINES)
