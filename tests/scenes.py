"""Evidence of a two-rank job, made by hand: GPU readings over time, RAS answers, processes."""

from collections.abc import Sequence

from qops.evidence.gpu import Gpu, GpuProcess, Gpus, GpuSample, GpuSamples
from qops.evidence.message import Logs
from qops.evidence.nccl import Ras, RasAnswer, RasCommunicator, RasRank
from qops.evidence.process import Process, Processes
from qops.evidence.text import Quote

PIDS = (4101, 4102)
LIMIT = 600.0  # watts
NO_LOGS = Logs()


def quote(text: str, line: int = 1) -> Quote:
    return Quote("scene", line, text)


def readings(*gpus: tuple[int, int, float, int], seconds: int = 11, growth: int = 0) -> GpuSamples:
    """Read each GPU once a second: (busy %, memory traffic %, watts, MiB in use, which gains `growth` a second)."""
    samples = []
    for second in range(seconds):
        for index, (busy, traffic, watts, mebibytes) in enumerate(gpus):
            used = (mebibytes + growth * second) << 20
            text = f"{second}, {index}, {busy} %, {traffic} %, {watts} W, {used >> 20} MiB"
            samples.append(
                GpuSample(float(second), index, quote(text, second * len(gpus) + index + 1), busy, traffic, watts, used)
            )
    return GpuSamples(tuple(samples))


WAITING = (100, 0, 118.4, 1622)
IDLE = (0, 0, 96.1, 1622)
WORKING = (97, 34, 512.0, 80_000)


def machine() -> Gpus:
    gpus = tuple(Gpu(i, quote(f"GPU {i}"), uuid=f"GPU-{i}", power_limit=LIMIT) for i in range(2))
    held = tuple(GpuProcess(pid, f"GPU-{i}", "python3", 1622 << 20, quote(f"{pid}")) for i, pid in enumerate(PIDS))
    return Gpus(gpus, driver="580.65.06", processes=held)


def processes(
    *states: str, children: Sequence[tuple[str, ...]] = ((), ()), stacks: Sequence[tuple[str, ...]] = ((), ())
) -> Processes:
    return Processes(
        tuple(
            Process(
                pid,
                quote(f"State: {state}"),
                command="python3 serve.py",
                state=state,
                children=tuple((9000 + i, name) for i, name in enumerate(own)),
                stack=stack,
            )
            for pid, state, own, stack in zip(PIDS, states, children, stacks, strict=True)
        )
    )


def answer(at: float, *communicators: tuple[str, Sequence[int]]) -> RasAnswer:
    """One RAS answer: for each communicator its id and the AllReduce count of each rank."""
    made = []
    for name, counts in communicators:
        ranks = tuple(
            RasRank(
                rank,
                quote(f"Rank {rank} has launched up to operation {n}"),
                PIDS[rank],
                rank,
                "n1",
                "RUNNING",
                (("AllReduce", n),),
            )
            for rank, n in enumerate(counts)
        )
        problem = "MISMATCH" if len(set(counts)) > 1 else ""
        made.append(RasCommunicator(name, 2, "RUNNING", problem, ranks, quote(f"({name}) {problem}")))
    return RasAnswer(True, quote("RAS"), at, "2.28.9", tuple(made))


def ras(*answers: RasAnswer) -> Ras:
    return Ras(tuple(answers))
