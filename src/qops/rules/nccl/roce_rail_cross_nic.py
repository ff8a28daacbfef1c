"""NCL022: NICs of different rails are paired though they cannot reach each other."""

import ipaddress
from collections.abc import Iterator

from qops.data.messages import rdma
from qops.derive import p2p
from qops.evidence.message import Hit, Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "NCL022",
    "roce-rail-cross-nic",
    explains=(
        "nccl-error",
        "collective-hang",
        "watchdog-timeout",
        "ib-completion-error",
        "job-failed",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "NCCL_CROSS_NIC=0 on every rank: each NIC then talks to the NIC of its own rail only",
            commands=("env | grep -E 'NCCL_CROSS_NIC|NCCL_IB_HCA'", "ip -o -4 addr"),
        ),
        Fix("or route between the rails, if they are meant to reach each other"),
    ),
)
def roce_rail_cross_nic(
    logs: Logs, environment: Environment | None, nccl: NcclLog | None
) -> Iterator[Found | RuledOut]:
    """NICs of different rails are paired though they cannot reach each other."""
    hints = logs.find(rdma.HINT_CROSS_RAIL)
    timeouts = [h for h in logs.find(rdma.MODIFY_QP) if _timed_out(h) and _mapped(h)]
    if not hints and not timeouts:
        return
    within = next((s for s in p2p.settings("NCCL_CROSS_NIC", environment, nccl) if s.value.strip() == "0"), None)
    if within:
        yield RuledOut("NCCL_CROSS_NIC=0 keeps each NIC on its rail", (within.quote,))
        return
    apart = [h for h in timeouts if _subnets(h)]
    first = (apart or timeouts or list(hints))[0]
    device = first.groups.get("device", "")
    if apart:
        text = "timed out between {} and {}, which are not in one network".format(*_subnets(apart[0]))
    elif timeouts:
        text = "timed out between two IPv4 RoCE addresses, before any data was sent"
    else:
        text = "failed, and NCCL takes the NICs for not connected across rails"
    yield Found(
        f"RDMA device {device}".rstrip(),
        f"making a connection {text}",
        (first.quote, *quotes(hints, 1)),
        Confidence.LIKELY if apart or hints else Confidence.POSSIBLE,
    )


def _timed_out(hit: Hit) -> bool:
    return hit.groups.get("number") == "110" or "timed out" in hit.groups["error"]


def _mapped(hit: Hit) -> bool:
    return all("::ffff:" in (hit.groups.get(k) or "").lower() for k in ("local", "remote"))


def _subnets(hit: Hit) -> tuple[str, str] | tuple[()]:
    """Return both addresses when they do not share their first 24 bits."""
    a, b = ((hit.groups.get(k) or "").lower().removeprefix("::ffff:").rstrip(".,") for k in ("local", "remote"))
    try:
        first, second = ipaddress.IPv4Address(a), ipaddress.IPv4Address(b)
    except ValueError:
        return ()
    return (str(first), str(second)) if int(first) >> 8 != int(second) >> 8 else ()
