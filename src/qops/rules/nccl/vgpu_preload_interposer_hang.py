"""NCL017: a preloaded vGPU library deadlocks inside NCCL's start."""

import re
from collections.abc import Iterator

from qops.data.messages import launch
from qops.derive import stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.message import Logs
from qops.evidence.nccl import NcclLog
from qops.evidence.process import Environment, Processes
from qops.evidence.text import Quote
from qops.evidence.torch import TorchLog
from qops.pattern import lazy
from qops.rule import Confidence, Fix, Found, RuledOut, rule

_INTERPOSER = lazy(r"lib(?:vgpu|hami|vcuda|cuda-control|softmig)\b[\w.-]*\.so|/vgpu/", re.IGNORECASE)


@rule(
    "NCL017",
    "vgpu-preload-interposer-hang",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "job-failed",
        "engine-silent-at-nccl",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "CUDA_DISABLE_CONTROL=true in the container (HAMi), since whole GPUs need no limit; or ask for the GPUs "
            "through the plain device plugin",
            commands=("env | grep -E 'LD_PRELOAD|CUDA_DISABLE_CONTROL'", "cat /etc/ld.so.preload"),
            risk="the container is no longer held to a share of the GPU's memory",
        ),
    ),
)
def vgpu_preload_interposer_hang(
    logs: Logs,
    environment: Environment | None,
    processes: Processes | None,
    nccl: NcclLog | None,
    gpus: Gpus | None,
    samples: GpuSamples | None,
    torch: TorchLog | None,
    engines: EngineLogs | None,
    jobs: JobResults | None,
) -> Iterator[Found | RuledOut]:
    """A preloaded vGPU library deadlocks inside NCCL's start."""
    preloaded = _preloaded(logs, environment, processes)
    if not preloaded:
        return
    off = [v for v in (environment.get("CUDA_DISABLE_CONTROL") if environment else ()) if v.value.lower() == "true"]
    started = [r for r in (nccl.ranks if nccl else ()) if r.complete]
    if off:
        yield RuledOut("CUDA_DISABLE_CONTROL=true switches the library off", (off[0].quote,))
        return
    if started or stall.works(jobs, engines):
        yield RuledOut("NCCL got through its start", tuple(r.quote for r in started[:1]))
        return
    stood = stall.signs(logs, nccl, gpus, samples, torch, engines)
    if stood:
        yield Found(
            "process",
            f"a vGPU library is preloaded and intercepts CUDA's memory calls, and {stood[0].text}",
            (preloaded[0], stood[0].quote),
            Confidence.LIKELY,
        )


def _preloaded(logs: Logs, environment: Environment | None, processes: Processes | None) -> tuple[Quote, ...]:
    set_ = tuple(v.quote for v in (environment.get("LD_PRELOAD") if environment else ()) if _INTERPOSER.search(v.value))
    mapped = tuple(
        p.quote for p in (processes.samples if processes else ()) if any(_INTERPOSER.search(x) for x in p.libraries)
    )
    return (*set_, *mapped, *(h.quote for h in logs.find(launch.VGPU_BANNER)))
