"""Which ranks of a job lag behind which, from every witness: RAS, torch, the flight recorder, NCCL's own log."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from qops.evidence.gpu import Gpus
from qops.evidence.nccl import NcclLog, Ras, RasAnswer, RasCommunicator, RasRank
from qops.evidence.process import Environment, Process, Processes
from qops.evidence.text import Quote
from qops.evidence.torch import FlightRecord, FlightRecords, TorchLog
from qops.pattern import lazy

# Programs that a framework starts to build kernels while the other ranks wait (torch.compile, Triton,
# FlashInfer, nvcc's own stages).
_CUDA_COMPILERS = ("nvcc", "cicc", "ptxas", "nvlink", "fatbinary", "cudafe++")
_HOST_COMPILERS = ("ninja", "make", "cmake", "cc1plus", "cc1", "g++", "gcc", "clang", "clang++", "ld", "as")
COMPILERS = frozenset((*_CUDA_COMPILERS, *_HOST_COMPILERS))


# vllm v1/executor/multiproc_executor.py: VLLM::Worker_DP0_PP0_TP1_EP1; sglang srt/managers/scheduler.py:
# sglang::scheduler_DP0_TP1. Each part stands there only where there is more than one.
_WORKER = lazy(r"(?:VLLM::Worker|sglang::scheduler)((?:_[A-Z]{2,4}\d{1,4}){1,8})(?:\s|$)", re.ASCII)
_PART = lazy(r"_([A-Z]{2,4})(\d{1,4})", re.ASCII)


class Member(Struct, frozen=True):
    """One rank of a job, as far as it is known."""

    rank: int | None
    pid: int | None = None
    gpu: int | None = None
    host: str = ""

    def __str__(self) -> str:
        name = f"rank {self.rank}" if self.rank is not None else "a rank"
        known = [f"pid {self.pid}" if self.pid is not None else "", f"GPU {self.gpu}" if self.gpu is not None else ""]
        rest = ", ".join(k for k in known if k)
        return f"{name} ({rest})" if rest else name


class Lag(Struct, frozen=True):
    """In one communicator, `behind` has issued fewer operations than `ahead`.

    `answers` is how many witnesses' answers say so, all alike; `seconds` the time between the first and the last.
    """

    communicator: str
    op: str
    behind: tuple[Member, ...]
    ahead: tuple[Member, ...]
    low: int
    high: int
    quotes: tuple[Quote, ...]
    witness: str  # "RAS", "torch", "flight recorder"
    answers: int = 1
    seconds: float = 0.0
    final: bool = False  # the witness speaks after the job gave up: nothing can still move


def ras_lags(ras: Ras | None) -> tuple[Lag, ...]:
    """Return the lags in the last RAS answer that did not change since the answers before it."""
    answers = [a for a in ras.answers if a.answered] if ras else []
    if not answers:
        return ()
    found = []
    for communicator in answers[-1].communicators:
        for op in dict.fromkeys(name for r in communicator.ranks for name, _ in r.operations):
            counts = _counts(communicator, op)
            if len(set(counts.values())) < 2:
                continue
            same = [a for a in answers if _same(a, communicator.id, op, counts)]
            if len(same) < len(answers) and len(answers) > 1:
                continue  # the counts moved: slow, but not stuck
            low, high = min(counts.values()), max(counts.values())
            by_rank = {r.rank: r for r in communicator.ranks}
            behind = [by_rank[r] for r, n in counts.items() if n == low]
            ahead = [by_rank[r] for r, n in counts.items() if n > low]
            times = [a.at for a in same if a.at is not None]
            found.append(
                Lag(
                    communicator=communicator.id,
                    op=op,
                    behind=tuple(_member(r) for r in behind),
                    ahead=tuple(_member(r) for r in ahead),
                    low=low,
                    high=high,
                    quotes=tuple(r.quote for r in (*behind[:2], *ahead[:2])),
                    witness="RAS",
                    answers=len(same),
                    seconds=max(times) - min(times) if len(times) > 1 else 0.0,
                )
            )
    return tuple(found)


def ras_moves(ras: Ras | None) -> bool:
    """Return whether operation counts changed between RAS answers: then the job moves."""
    answers = [a for a in ras.answers if a.answered] if ras else []
    for before, after in pairwise(answers):
        old = {c.id: {r.rank: r.operations for r in c.ranks} for c in before.communicators}
        for c in after.communicators:
            for r in c.ranks:
                was = old.get(c.id, {}).get(r.rank)
                if was and r.operations and was != r.operations:
                    return True
    return False


def ras_together(ras: Ras | None) -> tuple[str, int, tuple[Quote, ...]] | None:
    """Return (operation, number, quotes) when all ranks stand in the same one in all RAS answers, two or more."""
    answers = [a for a in ras.answers if a.answered] if ras else []
    if len(answers) < 2 or ras_moves(ras):
        return None
    for communicator in answers[-1].communicators:
        counts = [dict(r.operations) for r in communicator.ranks]
        alike = len(counts) > 1 and all(c == counts[0] for c in counts)
        op = max(counts[0], key=lambda name: counts[0][name], default="") if alike else ""
        if op and counts[0][op] and all(_same(a, communicator.id, op, _counts(communicator, op)) for a in answers):
            return op, counts[0][op], tuple(r.quote for r in communicator.ranks[:2])
    return None


def torch_lags(torch: TorchLog | None) -> tuple[Lag, ...]:
    """Return the lags that the ranks' own last words show: what each had enqueued when the watchdog spoke.

    A rank enqueues ahead of what is done, so the larger count alone is no lag: the others wait in the operation after
    the last that they completed, and only a rank that never enqueued that one is missing (mila-iqia/milabench 269).
    """
    found = []
    groups = dict.fromkeys(w.group for w in torch.work) if torch else {}
    for group in groups:
        states = {w.rank: w for w in torch.work if w.group == group} if torch else {}
        counts = {rank: w.enqueued for rank, w in states.items()}
        if len(set(counts.values())) < 2:
            continue
        low = min(counts.values())
        waits = [max(w.completed, 0) + 1 for w in states.values() if max(w.completed, low) < w.enqueued]
        high = max(waits, default=0)
        if low >= high:
            continue
        spoken = [t for t in torch.timeouts if t.group in ("", group)] if torch else []
        timeouts = [t for t in spoken if t.sequence == high or t.sequence is None]
        behind = [states[r] for r, n in counts.items() if n == low]
        ahead = [states[r] for r, n in counts.items() if n > low]
        found.append(
            Lag(
                communicator=group,
                op=timeouts[0].op if timeouts else "collective",
                behind=tuple(Member(w.rank) for w in behind),
                ahead=tuple(Member(w.rank) for w in ahead),
                low=low,
                high=high,
                quotes=tuple(w.quote for w in (*behind[:2], *ahead[:2])) + tuple(t.quote for t in timeouts[:1]),
                witness="torch",
                final=True,
            )
        )
    return tuple(found)


def flight_lags(flight: FlightRecords | None) -> tuple[Lag, ...]:
    """Return the lags between the dumps of two ranks or more."""
    records = [r for r in flight.records if r.rank is not None and r.entries] if flight else []
    found = []
    for group in dict.fromkeys(e.group for r in records for e in r.entries):
        last = {r.rank: max((e.sequence for e in r.entries if e.group == group), default=0) for r in records}
        if len(last) < 2 or len(set(last.values())) < 2:
            continue
        low = min(last.values())
        high = max(_waits_in(r, group) for r in records if last[r.rank] > low)
        if low >= high:
            continue
        by_rank = {r.rank: r for r in records}
        op = next((e.op for r in records for e in r.entries if e.group == group and e.sequence == high), "collective")
        found.append(
            Lag(
                communicator=group,
                op=op,
                behind=tuple(Member(r) for r, n in last.items() if n == low),
                ahead=tuple(Member(r) for r, n in last.items() if n > low),
                low=low,
                high=high,
                quotes=tuple(by_rank[r].quote for r in last),
                witness="flight recorder",
                final=True,
            )
        )
    return tuple(found)


def _waits_in(record: FlightRecord, group: str) -> int:
    """Return the first operation after the last that this rank completed, or its last one when it completed all."""
    done = max((e.sequence for e in record.entries if e.group == group and e.state == "completed"), default=-1)
    open_ = [e.sequence for e in record.entries if e.group == group and e.sequence > done]
    return min(open_) if open_ else done


def member_of(
    pid: int,
    nccl: NcclLog | None,
    environment: Environment | None,
    gpus: Gpus | None,
    ras: Ras | None = None,
    processes: Processes | None = None,
) -> Member:
    """Return what is known about the rank that process `pid` is."""
    rank = nccl.rank_of(pid) if nccl else None
    if rank is None and environment:
        rank = next(
            (
                int(v.value)
                for v in environment.variables
                if v.name == "RANK" and v.owner == f"pid {pid}" and v.value.isascii() and v.value.isdigit()
            ),
            None,
        )
    if rank is None and ras:
        rank = next((r.rank for a in ras.answers for c in a.communicators for r in c.ranks if r.pid == pid), None)
    if rank is None and processes:
        rank = next((r for p in processes.of(pid) if (r := _titled(p.command or p.name)) is not None), None)
    gpu = next((r.device for r in nccl.ranks if r.pid == pid), None) if nccl else None
    return Member(rank, pid, gpu if gpu is not None else gpu_of(pid, gpus))


def _titled(title: str) -> int | None:
    """Return the rank that an engine's worker has in its title, when tensor parallelism alone makes the ranks."""
    worker = _WORKER.match(title)
    parts = dict(_PART.findall(worker[1])) if worker else {}
    return int(parts["TP"]) if "TP" in parts and not {"PP", "PCP"} & set(parts) else None


def gpu_of(pid: int, gpus: Gpus | None) -> int | None:
    """Return the index of the GPU that a process holds, when the driver's list says so."""
    if gpus is None or gpus.processes is None:
        return None
    by_uuid = {g.uuid: g.index for g in gpus.gpus if g.uuid}
    for process in gpus.processes:
        if process.pid == pid:
            return int(process.gpu) if process.gpu.isascii() and process.gpu.isdigit() else by_uuid.get(process.gpu)
    return None


def compiler(pid: int | None, processes: Processes | None) -> tuple[Process, str] | None:
    """Return the process `pid` and the compiler that runs below it, or None."""
    for sample in reversed(processes.of(pid) if processes and pid is not None else ()):
        for _, name in sample.children:
            if name.rsplit("/", 1)[-1] in COMPILERS:
                return sample, name
    return None


def state_of(pid: int | None, processes: Processes | None) -> Process | None:
    """Return the last sample that says the state of process `pid`."""
    own = processes.of(pid) if processes and pid is not None else ()
    return next((p for p in reversed(own) if p.state), None)


def resolve(members: Iterable[Member], nccl: NcclLog | None) -> tuple[Member, ...]:
    """Fill in pids and GPUs of members that are known by rank alone, when the log of one job tells them."""
    found = []
    for m in members:
        own = {(r.pid, r.device) for r in nccl.ranks if r.rank == m.rank} if nccl and m.rank is not None else set()
        if m.pid is None and len(own) == 1:
            pid, gpu = own.pop()
            found.append(Member(m.rank, pid, m.gpu if m.gpu is not None else gpu, m.host))
        else:
            found.append(m)
    return tuple(found)


def names(members: Sequence[Member]) -> str:
    """Return `rank 1 (pid 5)`, `ranks 1 and 3`, `ranks 1, 2 and 3`, or a count when there are many."""
    if len(members) == 1:
        return str(members[0])
    if len(members) > 8:
        return f"{len(members)} ranks"
    parts = [str(m.rank) if m.rank is not None else str(m) for m in members]
    return f"ranks {', '.join(parts[:-1])} and {parts[-1]}"


def _member(rank: RasRank) -> Member:
    return Member(rank.rank, rank.pid, rank.gpu, rank.host)


def _counts(communicator: RasCommunicator, op: str) -> dict[int, int]:
    return {r.rank: n for r in communicator.ranks for name, n in r.operations if name == op}


def _same(answer: RasAnswer, communicator: str, op: str, counts: dict[int, int]) -> bool:
    return any(c.id == communicator and _counts(c, op) == counts for c in answer.communicators)
