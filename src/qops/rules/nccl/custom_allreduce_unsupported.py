"""NCL012: the engine's own all-reduce is on where the GPUs or their links do not support it."""

from collections.abc import Iterator

from qops.data.messages import launch
from qops.derive import p2p, stall
from qops.evidence.engine import EngineLogs, JobResults
from qops.evidence.gpu import Gpus, GpuSamples, Topology
from qops.evidence.kernel import KernelLog
from qops.evidence.message import Logs, quotes
from qops.evidence.nccl import NcclLog
from qops.evidence.process import Environment
from qops.evidence.text import Quote
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "NCL012",
    "custom-allreduce-unsupported",
    explains=(
        "collective-hang",
        "watchdog-timeout",
        "shm-broadcast-wait",
        "engine-stalled",
        "graph-capture-error-masked",
        "job-failed",
        "engine-silent-at-nccl",
        "engine-core-failed",
        "cuda-error",
    ),
    fix=(
        Fix(
            "start the engine with --disable-custom-all-reduce: NCCL then does the all-reduce",
            risk="small all-reduces take a little longer",
        ),
    ),
)
def custom_allreduce_unsupported(
    logs: Logs,
    kernel: KernelLog | None,
    topology: Topology | None,
    nccl: NcclLog | None,
    environment: Environment | None,
    gpus: Gpus | None,
    samples: GpuSamples | None,
    torch: TorchLog | None,
    engines: EngineLogs | None,
    jobs: JobResults | None,
) -> Iterator[Found | RuledOut]:
    """The engine's own all-reduce hangs on GPUs or links that it does not support."""
    failed = logs.find(launch.CUSTOM_AR_FAILED)
    if failed and not stall.works(jobs, engines):
        error = failed[0].groups["error"]
        yield Found("engine", f"its own all-reduce failed: {error}", quotes(failed, 2), Confidence.POSSIBLE)
        return
    at = stall.in_capture(logs)
    if at is None or stall.works(jobs, engines) or p2p.has_nvlink(topology) or stall.hosts(nccl, logs):
        return
    off = stall.custom_allreduce_off(logs, engines)
    if off:
        yield RuledOut("the engine's own all-reduce is off", off)
        return
    both = _on_all(kernel, logs)
    if both:
        yield Found(
            "engine",
            f"graph capture stands at {at.text[-60:]!r} and every GPU reports {both[0]} at the same time",
            (at, *both[1]),
            Confidence.LIKELY,
        )
        return
    volta = next((g for g in (gpus.gpus if gpus else ()) if g.compute_capability == "7.0" or "V100" in g.name), None)
    nccl_off = p2p.switched("NCCL_P2P_DISABLE", environment, nccl)
    strong = [s for s in stall.signs(logs, nccl, gpus, samples, torch, engines) if s.kind != "silence"]
    on = logs.first(launch.CUSTOM_AR_ON)
    if volta and strong:
        message = f"graph capture stands on {volta.name or 'Volta'}, which the engine's own all-reduce does not support"
        yield Found("engine", message, (at, volta.quote, strong[0].quote), Confidence.POSSIBLE)
    elif nccl_off and strong:
        yield Found(
            "engine",
            "graph capture stands although NCCL's P2P is off: what still uses P2P is the engine's own all-reduce",
            (at, nccl_off.quote, strong[0].quote, *((on.quote,) if on else ())),
            Confidence.LIKELY if on else Confidence.POSSIBLE,
        )


def _on_all(kernel: KernelLog | None, logs: Logs) -> tuple[str, tuple[Quote, ...]] | None:
    """Return an Xid that two GPUs or more reported within two seconds, in words and quotes."""
    xids = [x for x in (kernel.xids if kernel else ()) if not x.switch and x.bus_id]
    for x in xids:
        same = [
            y
            for y in xids
            if y.code == x.code and y.bus_id != x.bus_id and (x.at is None or y.at is None or abs(x.at - y.at) <= 2)
        ]
        if same:
            return f"Xid {x.code}", (x.quote, same[0].quote)
    said = logs.first(launch.STATED_XID_ALL)
    return (f"Xid {said.groups['code']}", (said.quote,)) if said else None
