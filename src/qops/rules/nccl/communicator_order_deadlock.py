"""NCL005: ranks enter the collectives of two communicators in opposite order."""

from collections.abc import Iterator, Sequence

from qops.derive.progress import spinning
from qops.derive.ranks import Lag, Member, flight_lags, ras_lags, resolve, torch_lags
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.torch import FlightRecords, TorchLog
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "NCL005",
    "communicator-order-deadlock",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "rank-missing-from-collective",
    ),
    fix=(
        Fix(
            "use the communicators in the same order on every rank: one stream for both, or an explicit wait between "
            "them; NCCL does not order operations of different communicators",
        ),
        Fix(
            "let CUDA order the launches (NCCL 2.26 and later)",
            kind="workaround",
            commands=("NCCL_LAUNCH_ORDER_IMPLICIT=1 COMMAND",),
            risk="costs launch latency",
        ),
    ),
)
def communicator_order_deadlock(
    logs: Logs,
    ras: Ras | None,
    torch: TorchLog | None,
    flight: FlightRecords | None,
    nccl: NcclLog | None,
    samples: GpuSamples | None,
    gpus: Gpus | None,
) -> Iterator[Found | RuledOut]:
    """Ranks enter the collectives of two communicators in opposite order, so each waits for the other."""
    pair = crossed((*ras_lags(ras), *torch_lags(torch), *flight_lags(flight)))
    if not pair:
        return
    a, b = pair
    spins = spinning(samples, gpus)
    one, two = resolve(a.behind, nccl), resolve(b.behind, nccl)
    settled = a.final or (a.answers > 1 and b.answers > 1)
    yield Found(
        subject=f"{one[0]} and {two[0]}",
        message=f"wait for each other: rank {one[0].rank} has not come to {a.op} {a.high} of communicator "
        f"{a.communicator}, rank {two[0].rank} not to {b.op} {b.high} of {b.communicator}",
        evidence=(*a.quotes[:2], *b.quotes[:2], *(q for s in spins[:2] for q in s.quotes[:1])),
        confidence=Confidence.CERTAIN if settled and (a.final or spins or a.seconds > 2) else Confidence.LIKELY,
    )


def crossed(lags: Sequence[Lag]) -> tuple[Lag, Lag] | None:
    """Return two lags in different communicators of one witness in which the same processes lag each other."""
    for position, a in enumerate(lags):
        for b in lags[position + 1 :]:
            if a.witness != b.witness or a.communicator == b.communicator:
                continue
            if _keys(a.behind) & _keys(b.ahead) and _keys(b.behind) & _keys(a.ahead):
                return a, b
    return None


def _keys(members: Sequence[Member]) -> set[tuple[str, int]]:
    # Ranks are numbered anew in each communicator, so the process identifies a member where it is known.
    return {("pid", m.pid) if m.pid is not None else ("rank", m.rank if m.rank is not None else -1) for m in members}
