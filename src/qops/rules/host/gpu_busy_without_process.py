"""HST023: a GPU says that it is busy, and nothing runs on it."""

from collections.abc import Iterator

from qops.derive.progress import MIN_SECONDS
from qops.evidence.gpu import Gpu, Gpus, GpuSample, GpuSamples
from qops.evidence.text import Quote
from qops.rule import Confidence, Fix, Found, Severity, rule

# Reported of Blackwell boards with drivers 580 to 595, when a process is killed within a kernel: 100 % busy, 0 MiB and
# no process for days, until a CUDA context is opened and closed (Datura-ai/lium-io#1142).
BUSY = 95  # percent
# A context of CUDA takes more than a hundred MiB; a GPU at rest under persistence mode holds a few for the driver.
EMPTY = 32 << 20  # bytes


@rule(
    "HST023",
    "gpu-busy-without-process",
    severity=Severity.WARNING,
    fix=(
        Fix(
            "open a CUDA context on it and close it again, which sets the reading right; stop engines by SIGTERM and "
            "wait, so that none is killed within a kernel",
            commands=(
                "CUDA_VISIBLE_DEVICES=GPU_INDEX python3 -c 'import torch; torch.zeros(1).cuda()'",
                "nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv",
            ),
        ),
    ),
)
def gpu_busy_without_process(gpus: Gpus, samples: GpuSamples | None) -> Iterator[Found]:
    """A GPU says that it is busy, and nothing runs on it."""
    for gpu in gpus.gpus:
        if not _busy(gpu.utilization, gpu.memory_used) or _holders(gpus, gpu):
            continue
        over = _throughout(samples, gpu.index)
        # Without persistence mode nvidia-smi starts the GPU itself, whose first reading is that of the start.
        if not over and not gpu.persistence:
            continue
        told = f" for {over[-1].at - over[0].at:.0f} s" if over else ""
        used = (gpu.memory_used or 0) >> 20
        yield Found(
            subject=f"GPU {gpu.index}",
            message=f"it reads {gpu.utilization} % busy{told} with {used} MiB in use and no process: the reading stuck",
            evidence=(gpu.quote, *(s.quote for s in over[-1:])),
            confidence=Confidence.LIKELY if over else Confidence.POSSIBLE,
        )
        return


def _busy(utilization: int | None, used: int | None) -> bool:
    return utilization is not None and utilization >= BUSY and used is not None and used <= EMPTY


def _holders(gpus: Gpus, gpu: Gpu) -> tuple[Quote, ...]:
    return tuple(p.quote for p in gpus.processes or () if p.gpu in (gpu.uuid, str(gpu.index)))


def _throughout(samples: GpuSamples | None, index: int) -> tuple[GpuSample, ...]:
    """Return the readings of a GPU when it was busy and empty in all of them, for long enough; else none."""
    own = samples.of(index) if samples else ()
    steady = len(own) > 2 and own[-1].at - own[0].at >= MIN_SECONDS
    return own if steady and all(_busy(s.utilization, s.memory_used) for s in own) else ()
