"""NCL023: not all RDMA devices of the port are used, or RDMA is switched off where it is there."""

import re
from collections.abc import Iterator

from qops.data.messages import nccl as messages
from qops.data.messages import rdma
from qops.derive import p2p, stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.evidence.network import Network
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, RuledOut, Severity, rule


@rule(
    "NCL023",
    "rdma-device-not-selected",
    severity=Severity.WARNING,
    fix=(
        Fix(
            "name every RDMA device of the linked ports in NCCL_IB_HCA (on GB10 a port has two, such as rocep1s0f1 and "
            "roceP2p1s0f1), and leave NCCL_IB_DISABLE out",
            commands=("ibdev2netdev", "env | grep -E 'NCCL_IB_(HCA|DISABLE)'", "ls /dev/infiniband"),
        ),
    ),
)
def rdma_device_not_selected(
    logs: Logs,
    nccl: NcclLog | None,
    network: Network | None,
    environment: Environment | None,
    jobs: JobResults | None,
    engines: EngineLogs | None,
) -> Iterator[Found | RuledOut]:
    """Not all RDMA devices of the port are used."""
    devices = {g.device: g.quote for g in (network.gids if network else ()) if routable(g.gid)}
    devices |= {h.groups["device"]: h.quote for h in logs.find(rdma.NETDEV) if h.groups["state"] == "Up"}
    if not devices:
        yield from _not_opened(logs, nccl, jobs, engines)
        return
    listed = logs.find(rdma.IB_DEVICES)
    used = {name for h in listed for name in re.findall(r"\[\d+\]([\w.-]+):\d+", h.groups["devices"])}
    asked = p2p.settings("NCCL_IB_HCA", environment, nccl)
    if not used and asked and not asked[0].value.startswith("^"):
        wanted = [part.split(":")[0] for part in asked[0].value.lstrip("=").split(",")]
        used = {d for d in devices if any(w and d.startswith(w) for w in wanted)}
    twins = [(d, t) for d in sorted(devices) for t in sorted(devices) if d in used and t not in used and twin(d, t)]
    if used and twins:
        a, b = twins[0]
        yield Found(
            f"RDMA device {b}",
            f"it belongs to the same port as {a} and is not used, so half of the port's rate is left",
            (*quotes(listed, 1), devices[b], *(s.quote for s in asked[:1])),
            Confidence.LIKELY,
        )
        return
    sockets = logs.find(messages.SOCKET_CHANNEL)
    if used or not sockets or not stall.hosts(nccl, logs):
        return
    off = p2p.switched("NCCL_IB_DISABLE", environment, nccl)
    absent = logs.find(rdma.NO_IB_DEVICE)
    if off or absent:
        why = "NCCL_IB_DISABLE=1" if off else "NCCL finds no device (/dev/infiniband is not in the container?)"
        yield Found(
            "network",
            f"hosts talk over TCP sockets while {', '.join(sorted(devices)[:4])} are there: {why}",
            (sockets[0].quote, *((off.quote,) if off else quotes(absent, 1)), next(iter(devices.values()))),
            Confidence.LIKELY,
        )


def _not_opened(
    logs: Logs, nccl: NcclLog | None, jobs: JobResults | None, engines: EngineLogs | None
) -> Iterator[Found | RuledOut]:
    """NCCL's own log shows a device that it could not use: seen and not opened, or IP over InfiniBand without verbs."""
    sockets = logs.find(rdma.SOCKET_IN_USE)
    unopened = logs.find(rdma.DEVICE_NOT_OPENED)
    over_ib = logs.find(rdma.SOCKET_OVER_IB)
    missing = logs.find(rdma.NO_VERBS_LIBRARY)
    several = stall.hosts(nccl, logs)
    inside = [*p2p.used(nccl, "P2P"), *p2p.used(nccl, "SHM"), *logs.find(messages.NODES)]
    if not sockets or (not several and (inside or stall.works(jobs, engines))):
        return  # within one host nothing goes over the network
    if unopened:
        yield Found(
            f"RDMA device {unopened[0].groups['device']}",
            "it is there and cannot be opened (is /dev/infiniband in the container?), so NCCL goes over TCP sockets",
            (unopened[0].quote, sockets[0].quote, *several[:1]),
            Confidence.LIKELY if several else Confidence.POSSIBLE,
        )
    elif over_ib and missing and several:
        yield Found(
            "network",
            f"NCCL finds no libibverbs and goes over sockets on {over_ib[0].groups['interface']}, an InfiniBand port",
            (missing[0].quote, over_ib[0].quote, several[0]),
            Confidence.LIKELY,
        )


def routable(gid: str) -> bool:
    """Return whether a GID holds an address that others can reach: not empty and not link-local."""
    return bool(gid.strip("0:")) and not gid.lower().startswith("fe80")


def twin(a: str, b: str) -> bool:
    """Return whether two names are one port's two PCIe functions, as GB10 wires them (rocep1s0f0, roceP2p1s0f0)."""
    return a != b and re.sub(r"P\d+", "", a) == re.sub(r"P\d+", "", b) and a.startswith("roce")
