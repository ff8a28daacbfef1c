"""SRV007: OpenMP threads outnumber the cores."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.evidence.kernel import System
from qops.evidence.message import Logs, quotes
from qops.evidence.process import Environment
from qops.rule import Confidence, Fix, Found, RuledOut, rule


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
    barrier = [h for h in logs.find(engine.THREADS) if "Reducing" not in h.quote.text]
    threads = [v for v in (environment.get("OMP_NUM_THREADS") if environment else ()) if v.value.isascii()]
    owners = {v.owner for v in threads if v.owner.startswith("pid ")}
    total = sum(int(v.value) for v in threads if v.value.isdigit() and v.owner in owners and len(v.value) < 6)
    cores = system.cpus if system else None
    if cores and total > 2 * cores:
        yield Found(
            subject="host",
            message=f"{len(owners)} processes ask for {total} OpenMP threads on {cores} cores",
            evidence=tuple(v.quote for v in threads[:4]),
            confidence=Confidence.LIKELY if barrier else Confidence.POSSIBLE,
        )
    elif cores and barrier and (most := max((int(v.value) for v in threads if _count(v.value)), default=0)) > cores:
        yield Found(
            subject="host",
            message=f"threads spin in an OpenMP barrier, and OMP_NUM_THREADS asks for {most} of them on {cores} cores",
            evidence=(*quotes(barrier, 2), *(v.quote for v in threads[:1])),
            confidence=Confidence.LIKELY,
        )
    elif barrier and not threads:
        yield Found(
            subject="host",
            message="threads spin in an OpenMP barrier, and OMP_NUM_THREADS is not set",
            evidence=quotes(barrier),
            confidence=Confidence.POSSIBLE,
        )


def _count(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) < 6
