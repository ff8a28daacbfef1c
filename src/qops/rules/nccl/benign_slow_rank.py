"""NCL816: the job goes on, and its ranks wait for the slowest each time. A waiting GPU is no hang."""

from collections.abc import Iterator

from qops.derive.progress import spinning
from qops.derive.ranks import ras_moves
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.nccl import Ras
from qops.rule import Confidence, Found, Role, RuledOut, Severity, rule


@rule("NCL816", "benign-slow-rank", role=Role.INFO, severity=Severity.INFO)
def benign_slow_rank(ras: Ras, samples: GpuSamples | None, gpus: Gpus | None) -> Iterator[Found | RuledOut]:
    """The job goes on, and its GPUs wait for the slowest rank each time: slow, and no hang."""
    spins = spinning(samples, gpus) if samples else ()
    if not spins or not ras_moves(ras):
        return
    answers = [answer for answer in ras.answers if answer.answered]
    quotes = tuple(rank.quote for answer in (answers[0], answers[-1]) for c in answer.communicators for rank in c.ranks)
    waiting = ", ".join(str(s.index) for s in spins)
    yield Found(
        "job",
        f"operation counts grow between RAS answers while GPU {waiting} waits most of the time: a rank is late each "
        "time, and comes",
        quotes[:4],
        Confidence.CERTAIN,
    )
