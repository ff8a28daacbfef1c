"""NCL002: a rank's process is stopped, or dead, while others wait for it."""

import signal
from collections.abc import Iterator

from qops.derive.progress import spinning
from qops.derive.ranks import Member, member_of, state_of
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.nccl import NcclLog, Ras, RasRank
from qops.evidence.process import Environment, Process, Processes
from qops.evidence.torch import TorchLog, WorkerExit
from qops.rule import Confidence, Fix, Found, RuledOut, about, rule

# Signals that end a rank from outside, or by its own crash. SIGTERM is what the launcher sends to the survivors,
# and SIGABRT is how the watchdog ends a rank that already hung.
_FATAL = {signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}


_RESTART = Fix("a dead rank does not come back: restart all ranks of the job together")
_CONTINUE = (
    Fix(
        "find who stopped it (a debugger, job control, a cgroup freezer), then let it go on",
        commands=("grep -E 'State|TracerPid' /proc/PID/status", "kill -CONT PID"),
        risk="collectives that timed out meanwhile stay broken: then restart the job",
    ),
    Fix("restart all ranks of the job together", kind="workaround", risk="requests in flight are lost"),
)


@rule(
    "NCL002",
    "rank-stopped",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "peer-closed-connection",
        "process-killed",
        "rank-missing-from-collective",
        "nccl-error",
        "job-failed",
    ),
    fix=(_RESTART,),
)
def rank_stopped(
    processes: Processes | None,
    torch: TorchLog | None,
    nccl: NcclLog | None,
    ras: Ras | None,
    samples: GpuSamples | None,
    environment: Environment | None,
    gpus: Gpus | None,
) -> Iterator[Found | RuledOut]:
    """A rank's process is stopped (state T) or dead while others wait for it."""
    stopped = [p for p in _last(processes) if p.state[:1] in ("T", "t", "Z", "X")]
    others = [p for p in _last(processes) if p.state[:1] in ("R", "S", "D")]
    for p in stopped:
        member = member_of(p.pid, nccl, environment, gpus, ras, processes)
        waiting = spinning(samples, gpus)
        if not others and not waiting:
            continue
        zombie = p.state[:1] in ("Z", "X")
        yield Found(
            subject=str(member),
            message=f"its process is {'dead and not reaped' if zombie else 'stopped'} (state {p.state}), "
            "so the other ranks wait for it",
            evidence=(p.quote, *(q for s in waiting[:1] for q in s.quotes[:2])),
            confidence=Confidence.CERTAIN if member.rank is not None or waiting else Confidence.LIKELY,
            fix=(_RESTART,) if zombie else about(_CONTINUE, p.pid),
        )
    gone = () if stopped else _gone(ras, processes)
    waiting = spinning(samples, gpus) if gone else ()
    for rank in gone:
        yield Found(
            subject=str(Member(rank.rank, rank.pid, rank.gpu)),
            message="its process is gone: RAS gets no answer from it, and no such process is on this host"
            + (", so the other ranks wait for it" if waiting else ""),
            evidence=(rank.quote, *(q for s in waiting[:1] for q in s.quotes[:2])),
            confidence=Confidence.CERTAIN if waiting else Confidence.LIKELY,
        )
    if stopped or gone or torch is None:
        return
    for exit_ in torch.exits:
        if -exit_.code in _FATAL and _is_first(exit_, torch):
            known = f"rank {exit_.rank} (pid {exit_.pid})" if exit_.pid else f"rank {exit_.rank}"
            yield Found(
                subject=known,
                message=f"ended by {signal.Signals(-exit_.code).name} before the other ranks",
                evidence=(exit_.quote,),
                confidence=Confidence.CERTAIN if exit_.root else Confidence.LIKELY,
            )
            return


def _gone(ras: Ras | None, processes: Processes | None) -> tuple[RasRank, ...]:
    """Return the ranks that RAS misses and whose processes are not here, beside a rank of the same node that is."""
    answers = [answer for answer in ras.answers if answer.answered] if ras else []
    if not answers or processes is None:
        return ()
    ranks = [rank for communicator in answers[-1].communicators for rank in communicator.ranks]
    here = {rank.host for rank in ranks if not rank.missing and rank.pid in processes.pids}
    lost = {rank.pid: rank for rank in ranks if rank.missing and rank.pid is not None and rank.host in here}
    return tuple(rank for pid, rank in lost.items() if pid not in processes.pids)


def _is_first(exit_: WorkerExit, torch: TorchLog) -> bool:
    return exit_.root or not any(e.root for e in torch.exits)


def _last(processes: Processes | None) -> list[Process]:
    pids = processes.pids if processes else ()
    return [p for p in (state_of(pid, processes) for pid in pids) if p]
