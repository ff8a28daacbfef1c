"""SRV007: OpenMP threads outnumber the cores."""

from collections.abc import Iterator

from qops.data.messages import threads
from qops.evidence.kernel import System
from qops.evidence.message import Hit, Logs, quotes
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, RuledOut, rule

OFTEN = 0.3  # of the periods in which a cgroup ran: what waits for a core is seldom held back as often
TOO_MANY = 1.5  # threads for each core: some are always asleep


@rule(
    "SRV007",
    "cpu-thread-oversubscription",
    fix=(
        Fix(
            "set OMP_NUM_THREADS to the cores of a rank: physical cores divided by the ranks on this host",
            commands=("OMP_NUM_THREADS=8 COMMAND",),
        ),
    ),
)
def cpu_thread_oversubscription(
    logs: Logs, environment: Environment | None, system: System | None
) -> Iterator[Found | RuledOut]:
    """OpenMP threads outnumber the cores."""
    quota = _quota(logs)
    throttled = _throttled(logs)
    asked = max(logs.find(threads.THREADS_ASKED), key=lambda h: int(h.groups["threads"]), default=None)
    may = quota[0] if quota else system.cpus if system else None
    most = int(asked.groups["threads"]) if asked else 0
    if throttled and throttled[0] >= OFTEN:
        # The kernel counts the periods in which more threads wanted to run than the container may.
        share = f": it may use {quota[0]:g} CPUs" if quota else ""
        more = f", {most} threads" if quota and most > quota[0] else ""
        yield Found(
            subject="container",
            message=f"held back in {throttled[0]:.0%} of the periods{more}{share}",
            evidence=(*quotes((throttled[1],)), *quotes(h for h in (quota and quota[1], more and asked) if h)),
            confidence=Confidence.LIKELY if quota else Confidence.POSSIBLE,
        )
        return
    if mends := logs.find(threads.OMP_MENDS):
        text = "the number of OpenMP threads was too large: it is better with another one"
        yield Found("host", text, (*quotes(mends, 1), *quotes((asked,) if asked else ())), Confidence.LIKELY)
        return
    ranks = max((int(h.groups["ranks"]) for h in logs.find(threads.TENSOR_PARALLEL)), default=1)
    omp = asked is not None and "OMP_NUM_THREADS" in asked.quote.text
    if asked and may and (most > may * TOO_MANY or (omp and most * ranks > may * 2)):
        each = f" in each of {ranks} ranks" if omp and ranks > 1 else ""
        yield Found(
            subject="host",
            message=f"{most} threads{each} for {may:g} CPUs",
            evidence=quotes((asked, quota[1]) if quota else (asked,)),
            confidence=Confidence.LIKELY if throttled else Confidence.POSSIBLE,
        )
        return
    barrier = [h for h in logs.find(threads.THREADS) if "Reducing" not in h.quote.text]
    settings = [v for v in (environment.get("OMP_NUM_THREADS") if environment else ()) if v.value.isascii()]
    owners = {v.owner for v in settings if v.owner.startswith("pid ")}
    total = sum(int(v.value) for v in settings if v.value.isdigit() and v.owner in owners and len(v.value) < 6)
    cores = system.cpus if system else None
    if cores and total > 2 * cores:
        yield Found(
            subject="host",
            message=f"{len(owners)} processes ask for {total} OpenMP threads on {cores} cores",
            evidence=tuple(v.quote for v in settings[:4]),
            confidence=Confidence.LIKELY if barrier else Confidence.POSSIBLE,
        )
    elif cores and barrier and (most := max((int(v.value) for v in settings if _count(v.value)), default=0)) > cores:
        yield Found(
            subject="host",
            message=f"threads spin in an OpenMP barrier, and OMP_NUM_THREADS asks for {most} of them on {cores} cores",
            evidence=(*quotes(barrier, 2), *(v.quote for v in settings[:1])),
            confidence=Confidence.LIKELY,
        )
    elif barrier and not settings:
        yield Found(
            subject="host",
            message="threads spin in an OpenMP barrier, and OMP_NUM_THREADS is not set",
            evidence=quotes(barrier),
            confidence=Confidence.POSSIBLE,
        )


def _quota(logs: Logs) -> tuple[float, Hit] | None:
    """Return the least number of CPUs that a container or a job is said to have, and where."""
    found: list[tuple[float, Hit]] = []
    for hit in logs.find(threads.CPU_QUOTA):
        g = hit.groups
        cpus = float(g.get("cpus") or g.get("limit") or g.get("pod") or 0)
        if "quota" in g:
            cpus = int(g["quota"]) / int(g["period"])
        elif "cfs" in g or "bare" in g:
            cpus = int(g.get("cfs") or g["bare"]) / 100_000  # cpu.cfs_period_us, unless somebody changed it
        if cpus:
            found.append((cpus, hit))
    return min(found, key=lambda f: f[0], default=None)


def _throttled(logs: Logs) -> tuple[float, Hit] | None:
    """Return the largest share of periods in which a cgroup was held back, and where it is said."""
    shares: list[tuple[float, Hit]] = []
    periods = 0
    for hit in logs.find(threads.CPU_THROTTLED):
        periods = int(hit.groups.get("periods", periods))
        held = hit.groups.get("throttled", hit.groups.get("both"))
        if periods and held is not None:
            shares.append((int(held) / periods, hit))
    return max(shares, key=lambda s: s[0], default=None)


def _count(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) < 6
