"""NCL019: RLIMIT_MEMLOCK, or a missing IPC_LOCK capability, stops RDMA registration."""

from collections.abc import Iterator

from qops.data.messages import rdma
from qops.evidence.container import Containers
from qops.evidence.kernel import AllLimits
from qops.evidence.message import Logs, quotes
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, RuledOut, rule

ENOUGH = 1 << 30  # bytes; NCCL registers buffers of some hundred MiB for each peer and channel


@rule(
    "NCL019",
    "memlock-too-small",
    explains=(
        "nccl-error",
        "ib-completion-error",
        "job-failed",
        "peer-closed-connection",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "raise memlock where the process is started: LimitMEMLOCK=infinity in the unit, --ulimit memlock=-1 and "
            "--cap-add IPC_LOCK for a container, limits.conf for a login",
            commands=("grep 'Max locked memory' /proc/self/limits", "ulimit -l"),
        ),
    ),
)
def memlock_too_small(
    logs: Logs, limits: AllLimits | None, containers: Containers | None
) -> Iterator[Found | RuledOut]:
    """RLIMIT_MEMLOCK, or a missing IPC_LOCK capability, stops RDMA registration."""
    told = logs.find(rdma.MEMLOCK_UCX)
    verbs = logs.find(rdma.MEMLOCK_VERBS)
    if told:
        current = next((h.groups["kbytes"] for h in told if h.groups.get("kbytes")), "")
        yield Found(
            "process",
            f"memory cannot be locked for RDMA{f': the limit is {current} KiB' if current else ''}",
            (*quotes(told, 2), *quotes(verbs, 1)),
            Confidence.CERTAIN,
        )
        return
    small, large = known(limits, containers)
    mute = logs.find(rdma.VERBS_MUTE)
    if mute and not verbs and (small or not large):
        # NVIDIA's guide gives this line for a limit on locked memory (troubleshooting, InfiniBand).
        and_limit = f", and the limit of locked memory is {small[0][0] >> 10} KiB" if small else " and does not say why"
        yield Found(
            "process",
            f"{mute[0].groups['call']} failed{and_limit}",
            (*quotes(mute, 2), *(q for _, q in small[:1])),
            Confidence.LIKELY if small else Confidence.POSSIBLE,
        )
        return
    if not verbs:
        return
    if large and not small:
        yield RuledOut(
            "locked memory is not limited where it was read; without a limit it is memory that cannot be pinned "
            "(on GB10: page cache in CMA blocks)",
            large[:1],
        )
        return
    call = verbs[0].groups.get("call", "the network plug-in")
    yield Found(
        "process",
        f"{call} cannot lock memory" + (f", and the limit is {small[0][0] >> 10} KiB" if small else ""),
        (*quotes(verbs, 2), *(q for _, q in small[:1])),
        Confidence.CERTAIN if small else Confidence.LIKELY,
    )


def known(
    limits: AllLimits | None, containers: Containers | None
) -> tuple[tuple[tuple[int, Quote], ...], tuple[Quote, ...]]:
    """Return the limits that are too small, and those that are large enough."""
    values = [(x.memlock, x.quote) for x in (limits.limits if limits else ()) if x.memlock is not None]
    values += [(c.memlock, c.quote) for c in (containers.containers if containers else ()) if c.memlock is not None]
    small = tuple((m, q) for m, q in values if 0 <= m < ENOUGH)
    return small, tuple(q for m, q in values if m < 0 or m >= ENOUGH)
