"""NCL901: GPUs spin in a kernel that moves nothing, or ranks wait in a collective that does not end."""

from collections.abc import Iterator

from qops.derive.progress import spinning
from qops.derive.ranks import compiler, flight_lags, ras_lags, ras_moves, ras_together, torch_lags
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.nccl import NcclLog, Ras
from qops.evidence.process import Processes
from qops.evidence.torch import FlightRecords, TorchLog
from qops.rule import Confidence, Found, Role, RuledOut, rule


@rule("NCL901", "collective-hang", role=Role.SYMPTOM)
def collective_hang(
    samples: GpuSamples | None,
    gpus: Gpus | None,
    ras: Ras | None,
    torch: TorchLog | None,
    flight: FlightRecords | None,
    processes: Processes | None,
    nccl: NcclLog | None,
) -> Iterator[Found | RuledOut]:
    """Ranks wait in a collective that does not end."""
    lags = (*ras_lags(ras), *torch_lags(torch), *flight_lags(flight))
    for lag in lags:
        for member in lag.behind:
            if compiler(member.pid, processes):
                return  # the others wait for a compiler, which is work
    spins = spinning(samples, gpus)
    if ras_moves(ras):
        if spins:
            yield RuledOut("operation counts grow between RAS answers", spins[0].quotes[:1])
        return
    if not spins and not [lag for lag in lags if lag.answers > 1 or lag.final]:
        return
    seen = [f"GPU {s.index} {s.utilization} % busy with {s.memory_utilization} % memory traffic" for s in spins]
    power = [f"at {s.power:.0f} W" + (f" of {s.power_limit:.0f} W" if s.power_limit else "") for s in spins if s.power]
    text = ", ".join(f"{a} {b}" for a, b in zip(seen, power or [""] * len(seen), strict=False)) if seen else ""
    told = f"{text} for {spins[0].seconds:.0f} s" if text else f"{lags[0].op} does not end, says {lags[0].witness}"
    together = ras_together(ras)
    if together and spins:
        told += f"; all ranks are in {together[0]} {together[1]}: they disagree on its size, or its bytes do not move"
    yield Found(
        subject="job",
        message=told,
        evidence=(*(q for s in spins for q in s.quotes[:2]), *(q for lag in lags[:1] for q in lag.quotes[:2])),
        confidence=Confidence.CERTAIN if lags and spins else Confidence.LIKELY,
    )
