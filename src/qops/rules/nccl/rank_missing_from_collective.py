"""NCL001: one rank never joins the collective that the others wait in."""

from collections.abc import Iterator

from qops.data.messages import torch as messages
from qops.derive.progress import MIN_SECONDS, idle_during, spinning
from qops.derive.ranks import (
    Lag,
    Member,
    compiler,
    flight_lags,
    gpu_of,
    member_of,
    names,
    ras_lags,
    ras_moves,
    resolve,
    state_of,
    torch_lags,
)
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.process import Environment, Process, Processes
from qops.evidence.torch import FlightRecords, TorchLog
from qops.rule import Confidence, Fix, Found, Role, RuledOut, about, rule
from qops.rules.nccl.communicator_order_deadlock import crossed

STEADY_SECONDS = 4.0  # RAS answers this far apart and alike are a stall when a GPU spins meanwhile

_FIX = (
    Fix(
        "see what that rank does instead of joining: its stack names the line; then mend that branch or input",
        commands=("py-spy dump --pid PID",),
    ),
    Fix(
        "restart all ranks of the job together; one rank alone cannot come back",
        kind="workaround",
        risk="requests in flight are lost",
    ),
)

_TELL = (
    Fix(
        "look twice, some seconds apart, whether that rank's stack changes; start the job with NCCL's RAS on, which "
        "counts how far each rank came",
        commands=("py-spy dump --pid PID",),
    ),
)


@rule(
    "NCL001",
    "rank-missing-from-collective",
    explains=("collective-hang", "watchdog-timeout", "shm-broadcast-wait", "engine-stalled", "peer-closed-connection"),
    fix=_FIX,
)
def rank_missing_from_collective(
    logs: Logs,
    ras: Ras | None,
    torch: TorchLog | None,
    flight: FlightRecords | None,
    nccl: NcclLog | None,
    samples: GpuSamples | None,
    processes: Processes | None,
    environment: Environment | None,
    gpus: Gpus | None,
) -> Iterator[Found | RuledOut]:
    """One rank never joins the collective that the others wait in."""
    lags = (*ras_lags(ras), *torch_lags(torch), *flight_lags(flight))
    told = _by_word(logs)
    if told:
        yield told
        return
    pair = crossed(lags)
    if pair:
        yield RuledOut("the same ranks lag each other in two communicators: neither is missing", pair[0].quotes)
        return
    spins = spinning(samples, gpus)
    for lag in lags:
        behind = resolve(lag.behind, nccl)
        reason = _excuse(behind, processes)
        if reason:
            yield reason
            return
        strong = lag.final or (bool(spins) and (lag.answers > 1 or len(spins) > 0))
        evidence = (*lag.quotes, *(q for s in spins[:1] for q in s.quotes[:1]))
        yield Found(
            subject=names(behind),
            message=_message(lag, behind),
            evidence=evidence,
            confidence=_confidence(lag, strong=strong),
            fix=about(_FIX, behind[0].pid),
        )
        return
    if spins and ras_moves(ras):
        yield RuledOut("operation counts grow between RAS answers: a rank is late each time, and comes", ())
    elif samples and processes and spins:
        yield from _without_witness(samples, processes, environment, gpus, nccl, ras)


def _by_word(logs: Logs) -> Found | None:
    """PyTorch names the ranks: its flight recorder's analysis, and the barrier that watches who comes."""
    missing = logs.find(messages.MISSING_RANKS) if logs.find(messages.NOT_JOINED) else ()
    late = logs.find(messages.BARRIER_MISSED)
    first = next(iter((*missing, *late)), None)
    if first is None:
        return None
    ranks = first.groups["ranks"].replace(" ", "").split(",")
    joined = logs.first(messages.NOT_JOINED)
    number = joined.groups.get("number") if joined else None
    what = f"collective {number}" if number else "the collective" if missing else "the barrier"
    return Found(
        subject=names(tuple(Member(int(r)) for r in ranks)),
        message=f"never joined {what} in which the others wait",
        evidence=(first.quote, *((joined.quote,) if joined and missing else ())),
        confidence=Confidence.CERTAIN,
    )


def _message(lag: Lag, behind: tuple[Member, ...]) -> str:
    waits = "wait" if len(lag.ahead) > 1 else "waits"
    issues, its = ("issue", "their") if len(behind) > 1 else ("issues", "its")
    what = f"never {issues} {lag.op} {lag.high}, in which {names(lag.ahead)} {waits}"
    return f"{what}; {its} last one was number {lag.low}"


def _confidence(lag: Lag, *, strong: bool) -> Confidence:
    if lag.final or (strong and lag.seconds >= STEADY_SECONDS):
        return Confidence.CERTAIN
    return Confidence.LIKELY if strong or lag.answers > 1 else Confidence.POSSIBLE


def _excuse(behind: tuple[Member, ...], processes: Processes | None) -> RuledOut | None:
    for m in behind:
        state = state_of(m.pid, processes)
        if state and state.state[:1] in "TtZX":
            return RuledOut(f"{m} lags because its process is in state {state.state}", (state.quote,))
        busy = compiler(m.pid, processes)
        if busy:
            return RuledOut(f"{m} lags because it compiles: {busy[1]} runs below it", (busy[0].quote,))
    return None


def _without_witness(
    samples: GpuSamples,
    processes: Processes,
    environment: Environment | None,
    gpus: Gpus | None,
    nccl: NcclLog | None,
    ras: Ras | None,
) -> Iterator[Found | RuledOut]:
    """RAS is silent or off: the rank whose GPU runs nothing while the others spin is missing, or late each time.

    Only a main thread that did not run at all in that time is called missing: a late rank runs when it comes.
    """
    spins = spinning(samples, gpus)
    idle = {s.index: s for s in idle_during(samples, spins)}
    suspects = [pid for pid in processes.pids if gpu_of(pid, gpus) in idle]
    # Ranks that share a GPU, or a GPU that nobody sampled: then only the processor tells who waits in a kernel.
    asleep = [] if suspects else _asleep(processes, environment)
    for pid in suspects or asleep:
        state = state_of(pid, processes)
        member = member_of(pid, nccl, environment, gpus, ras)
        excuse = _excuse((member,), processes)
        if excuse:
            yield excuse
            return
        if state is None or _tears_down(state):
            continue
        gpu = gpu_of(pid, gpus)
        still = _stood_still(pid, processes)
        waiting = ", ".join(f"GPU {s.index}" for s in spins)
        yield Found(
            subject=str(member),
            message=f"{'runs nothing on its GPU' if suspects else 'uses no processor time'} while {waiting} spins in a "
            f"kernel for {spins[0].seconds:.0f} s; "
            f"its process is in state {state.state}{f', in {state.wchan}' if state.wchan not in ('', '0') else ''}; "
            + (
                f"its main thread did not run once in {still:.0f} s"
                if still
                else f"whether it never comes, or only late each time, its stack tells (py-spy dump --pid {pid}, "
                "twice), or NCCL's RAS, which is off or silent"
            ),
            evidence=(state.quote, *(idle[gpu].quotes[:1] if gpu in idle else ()), *spins[0].quotes[:2]),
            confidence=Confidence.POSSIBLE,
            role=None if still else Role.SYMPTOM,
            fix=about(_FIX, pid) if still else about(_TELL, pid),
        )
        return


def _stood_still(pid: int, processes: Processes) -> float:
    """Return for how many seconds the main thread of a process did not run at all; 0 when it ran or nobody counted."""
    own = [p for p in processes.of(pid) if p.switches is not None and p.at is not None]
    seconds = (own[-1].at or 0.0) - (own[0].at or 0.0) if own else 0.0
    return seconds if seconds >= MIN_SECONDS and own[0].switches == own[-1].switches else 0.0


def _asleep(processes: Processes, environment: Environment | None) -> list[int]:
    """Return the ranks that used no processor time while another one polled for the end of its kernel."""
    ranks = {v.owner for v in environment.variables if v.name == "RANK"} if environment else set()
    used: dict[int, float] = {}
    for pid in processes.pids:
        own = [p for p in processes.of(pid) if p.cpu_ticks is not None and p.at is not None]
        if f"pid {pid}" in ranks and len(own) > 1:
            seconds = (own[-1].at or 0.0) - (own[0].at or 0.0)
            ticks = (own[-1].cpu_ticks or 0) - (own[0].cpu_ticks or 0)
            used[pid] = ticks / 100 / seconds if seconds >= STEADY_SECONDS else 1.0
    if not any(share > 0.8 for share in used.values()):
        return []
    return [pid for pid, share in used.items() if share < 0.05]


def _tears_down(process: Process) -> bool:
    return any("ncclCommDestroy" in f or "commReclaim" in f or "ncclCommFinalize" in f for f in process.stack)
