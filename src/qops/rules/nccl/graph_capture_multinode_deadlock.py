"""NCL025: a collective inside multi-node CUDA graph capture deadlocks."""

from collections.abc import Iterator

from qops.data import nccl as facts
from qops.data.messages import cuda, engine, launch, system
from qops.derive import stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpus, GpuSamples
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "NCL025",
    "graph-capture-multinode-deadlock",
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
            "NCCL 2.30.4 or later on all hosts, where captured collectives across hosts were seen to work",
            commands=("python3 -c 'import torch; print(torch.cuda.nccl.version())'",),
        ),
        Fix(
            "no CUDA graphs: --enforce-eager (vLLM), --disable-cuda-graph (SGLang), as flags",
            kind="workaround",
            risk="slower decoding",
        ),
    ),
)
def graph_capture_multinode_deadlock(
    logs: Logs,
    nccl: NcclLog | None,
    gpus: Gpus | None,
    samples: GpuSamples | None,
    torch: TorchLog | None,
    engines: EngineLogs | None,
    jobs: JobResults | None,
) -> Iterator[Found | RuledOut]:
    """A collective inside multi-node CUDA graph capture deadlocks."""
    at = stall.in_capture(logs)
    eager = logs.find(launch.EAGER_WORKS)
    # "Two nodes" in someone's words may be two that failed apart: only with what they found of graphs is it this job's.
    several = stall.hosts(nccl, logs) or (quotes(logs.find(launch.SAID_NODES), 1) if eager else ())
    if at is None or not several:
        return
    if stall.works(jobs, engines):
        yield RuledOut("the engine came to serve", (at,))
        return
    stood = [s for s in stall.signs(logs, nccl, gpus, samples, torch, engines) if s.kind != "silence"]
    failed = logs.find(engine.CUDA_OOM) or (() if stood else logs.find(cuda.CUDA_ERROR, system.PROGRAM_FAILED))
    if ended := [h for h in failed if h.quote.source == at.source and h.quote.line >= at.line]:
        yield RuledOut("capture did not stand: it ended with an error", quotes(ended, 1))
        return
    banner = logs.first(launch.PYNCCL_BANNER)
    text = banner.groups["version"] if banner else next(iter(nccl.versions if nccl else ()), "")
    version = facts.version_of(text)
    old = bool(version) and version < facts.GRAPH_NET_FIX
    about = f" with NCCL {facts.written(version)}" if old else ""
    sign = f", and {stood[0].text}" if stood else ", which starts without graphs" if eager else ""
    yield Found(
        "engine",
        f"CUDA graph capture stands in a job of several hosts{about}{sign}",
        (
            at,
            several[0],
            *(s.quote for s in stood[:1]),
            *((banner.quote,) if banner and old else ()),
            *quotes(eager, 1),
        ),
        Confidence.LIKELY if stood or eager else Confidence.POSSIBLE,
    )
