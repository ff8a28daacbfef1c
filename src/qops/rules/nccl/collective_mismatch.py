"""NCL004: ranks issued different collectives, or the same one with other sizes."""

from collections.abc import Iterator

from qops.data.messages import nccl as messages
from qops.data.messages import torch as torch_messages
from qops.derive.progress import spinning
from qops.derive.ranks import Member, member_of, ras_lags, state_of
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog, Ras, RasCommunicator
from qops.evidence.process import Processes
from qops.evidence.torch import FlightEntry, FlightRecords, TorchLog, WatchdogTimeout
from qops.rule import Confidence, Fix, Found, RuledOut, rule

_LEFT = ("NOCOMM", "FINALIZE", "DESTROY", "ABORT")  # RAS: the rank has no such communicator any more


@rule(
    "NCL004",
    "collective-mismatch",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "rank-missing-from-collective",
    ),
    fix=(
        Fix(
            "make all ranks run the same sequence of collectives with the same sizes: look at branches on the rank, "
            "at uneven batches, and at evaluation or checkpoint code",
            commands=("TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 COMMAND",),
        ),
    ),
)
def collective_mismatch(
    logs: Logs | None,
    torch: TorchLog | None,
    flight: FlightRecords | None,
    ras: Ras | None,
    nccl: NcclLog | None,
    samples: GpuSamples | None,
    processes: Processes | None,
    gpus: Gpus | None,
) -> Iterator[Found | RuledOut]:
    """Ranks issued different collectives, or the same one with other sizes."""
    found = (
        _by_word(logs)
        or _by_watchdog(torch)
        or _by_flight(flight)
        or _by_departure(ras, nccl, samples, processes, gpus)
    )
    if found:
        yield found


def _by_word(logs: Logs | None) -> Found | None:
    """PyTorch compares what the ranks are about to do, with TORCH_DISTRIBUTED_DEBUG=DETAIL; old NCCL did so too."""
    told = logs.find(torch_messages.COLLECTIVES_DIFFER, messages.MISMATCHED_COLLECTIVE) if logs else ()
    if not told:
        return None
    first = next((h for h in told if h.groups.get("b")), told[0])
    pair = f"ranks {first.groups['a']} and {first.groups['b']}" if first.groups.get("b") else "job"
    message = "the ranks were about to run different collectives, or the same one with other sizes"
    return Found(pair, message, (first.quote, *quotes([h for h in told if h is not first], 1)), Confidence.CERTAIN)


def _by_watchdog(torch: TorchLog | None) -> Found | None:
    for a in torch.timeouts if torch else ():
        for b in torch.timeouts if torch else ():
            if a.rank >= b.rank or a.sequence is None or a.sequence != b.sequence or _apart(a, b):
                continue
            if a.op != b.op or a.elements_in != b.elements_in:
                return Found(
                    subject=f"ranks {a.rank} and {b.rank}",
                    message=f"work {a.sequence} is {a.op} of {a.elements_in} elements on rank {a.rank} "
                    f"and {b.op} of {b.elements_in} on rank {b.rank}",
                    evidence=(a.quote, b.quote),
                    confidence=Confidence.CERTAIN,
                )
    return None


def _apart(a: WatchdogTimeout, b: WatchdogTimeout) -> bool:
    """Return whether the log gives two timeouts to different process groups: each counts for itself."""
    return bool(a.group and b.group) and a.group != b.group


def _by_flight(flight: FlightRecords | None) -> Found | None:
    first: dict[tuple[str, int], tuple[int | None, FlightEntry]] = {}
    for record in flight.records if flight else ():
        for entry in record.entries:
            rank, other = first.setdefault((entry.group, entry.sequence), (record.rank, entry))
            if rank != record.rank and (entry.op, entry.sizes) != (other.op, other.sizes):
                return Found(
                    subject=f"ranks {rank} and {record.rank}",
                    message=f"work {entry.sequence} is {other.op} {_sizes(other)} on rank {rank} "
                    f"and {entry.op} {_sizes(entry)} on rank {record.rank}",
                    evidence=(record.quote,),
                    confidence=Confidence.CERTAIN,
                )
    return None


def _sizes(entry: FlightEntry) -> str:
    return " ".join("x".join(map(str, size)) for size in entry.sizes)


def _by_departure(
    ras: Ras | None, nccl: NcclLog | None, samples: GpuSamples | None, processes: Processes | None, gpus: Gpus | None
) -> Found | None:
    """One rank finished and left the communicator while another still waits in it, with equal counts before."""
    answers = [a for a in ras.answers if a.answered] if ras else []
    if not answers or ras_lags(ras):
        return _by_stack(nccl, samples, processes, gpus)
    for communicator in answers[-1].communicators:
        gone = [r for r in communicator.ranks if r.status.upper() in _LEFT]
        stay = [r for r in communicator.ranks if r.status.upper() == "RUNNING"]
        if not gone or not stay or not _alive(communicator, processes):
            continue
        spins = spinning(samples, gpus)
        if len(answers) < 2 and not spins:
            continue
        left, waits = Member(gone[0].rank, gone[0].pid, gone[0].gpu), Member(stay[0].rank, stay[0].pid, stay[0].gpu)
        return Found(
            subject=f"ranks {left.rank} and {waits.rank}",
            message=f"{left} has finished its last collective and left the communicator, while {waits} still waits "
            "in one: they did not agree on how many there are, or on their size",
            evidence=(gone[0].quote, stay[0].quote, *(q for s in spins[:1] for q in s.quotes[:2])),
            confidence=Confidence.LIKELY,
        )
    return None


def _alive(communicator: RasCommunicator, processes: Processes | None) -> bool:
    states = [state_of(r.pid, processes) for r in communicator.ranks]
    return not any(s and s.state[:1] in "TtZX" for s in states)


def _by_stack(
    nccl: NcclLog | None, samples: GpuSamples | None, processes: Processes | None, gpus: Gpus | None
) -> Found | None:
    spins = spinning(samples, gpus)
    for p in processes.samples if processes and spins else ():
        if any("ncclCommDestroy" in f or "commReclaim" in f for f in p.stack) and p.state[:1] not in ("T", "Z"):
            return Found(
                subject=str(member_of(p.pid, nccl, None, gpus)),
                message="tears its communicator down while another rank still waits in a collective of it",
                evidence=(p.quote, *spins[0].quotes[:2]),
                confidence=Confidence.LIKELY,
            )
    return None
