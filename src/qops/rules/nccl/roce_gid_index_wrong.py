"""NCL021: the RoCE GID index points at a link-local or vanished address."""

from collections.abc import Iterator

from qops.data.messages import rdma
from qops.derive import p2p
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.evidence.network import Gid, Network
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "NCL021",
    "roce-gid-index-wrong",
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
            "leave NCCL_IB_GID_INDEX out: NCCL 2.21 and later find the IPv4 RoCE v2 entry on each host by themselves",
            commands=("show_gids", "env | grep NCCL_IB_GID_INDEX", "dmesg | grep -i gid"),
        ),
        Fix("set it to the index of the ::ffff:a.b.c.d RoCE v2 entry, on each host for itself", kind="workaround"),
    ),
)
def roce_gid_index_wrong(
    logs: Logs, environment: Environment | None, nccl: NcclLog | None, network: Network | None
) -> Iterator[Found | RuledOut]:
    """The RoCE GID index points at a link-local or vanished address."""
    forced = next(iter(p2p.settings("NCCL_IB_GID_INDEX", environment, nccl)), None)
    index = p2p.number(forced.value) if forced else -1
    failed = logs.find(rdma.MODIFY_QP)
    completions = [h for h in logs.find(rdma.IB_COMPLETION) if h.groups.get("status") == "12"]
    for hit in failed:
        local = (hit.groups.get("local") or "").lower()
        if local.startswith("fe80"):
            yield Found(
                f"RDMA device {hit.groups.get('device', '')}".rstrip(),
                f"its GID index {hit.groups.get('index', '?')} is the link-local address {local}, which is not routed",
                (hit.quote, *((forced.quote,) if forced else ())),
                Confidence.CERTAIN if forced else Confidence.LIKELY,
            )
            return
    # The kernel answers ENODATA for an entry of the table that holds no address (rdma_get_gid_attr).
    empty = [h for h in failed if h.groups.get("number") == "61" or "No data available" in h.groups["error"]]
    if empty:
        first = empty[0]
        which = first.groups.get("index") or (str(index) if forced else "")
        yield Found(
            f"RDMA device {first.groups.get('device') or ''}".rstrip(),
            f"its GID index{f' {which}' if which else ''} holds no address (any more)",
            (first.quote, *((forced.quote,) if forced else ())),
            Confidence.CERTAIN if forced else Confidence.LIKELY,
        )
        return
    mapped = [h for h in failed if "::ffff:" in (h.groups.get("local") or "").lower()]
    if mapped:
        if forced:
            yield RuledOut("the GID in use is an IPv4 one", quotes(mapped, 1))
        return
    # fe80:: as NCCL prints it: the bytes of the prefix in the order of a little-endian machine.
    in_use = [h for h in logs.find(rdma.IB_QUEUE_PAIR) if h.groups["subnet"].upper() == "80FE"]
    hints = logs.find(rdma.HINT_GID)
    if forced is None or index < 0:
        return
    table = network.gids if network else ()
    broken = (*quotes(failed, 1), *(h.quote for h in completions[:1]), *quotes(hints, 1))
    wrong = [g for g in table if g.index == index and g.gid.lower().startswith("fe80")]
    pasted = [h for h in logs.find(rdma.GID_LINK_LOCAL) if int(h.groups["index"]) == index]
    other = _better(table)
    instead = f"; index {other.index} is {other.gid}" if other else ""
    if broken and (wrong or pasted or in_use):
        line = wrong[0].quote if wrong else (*pasted, *in_use)[0].quote
        message = f"NCCL_IB_GID_INDEX={index} is a link-local address, which is not routed{instead}"
        yield Found("RDMA", message, (forced.quote, line, *broken), Confidence.CERTAIN)
    elif broken and table and index not in {g.index for g in table}:
        message = f"NCCL_IB_GID_INDEX={index} does not exist in this host's table any more{instead}"
        yield Found("RDMA", message, (forced.quote, table[0].quote, *broken), Confidence.LIKELY)
    elif any("Invalid argument" in h.groups["error"] for h in failed) or hints:
        message = f"NCCL_IB_GID_INDEX={index} is refused when a connection is made"
        yield Found("RDMA", message, (forced.quote, *broken), Confidence.LIKELY)


def _better(table: tuple[Gid, ...]) -> Gid | None:
    return next((g for g in table if "ffff:" in g.gid.lower() and g.kind != "RoCE v1"), None)
