"""CUD007: the NVLink fabric never completes on some or all GPUs."""

from collections.abc import Iterator

from qops.data.messages import system
from qops.derive.fabric import in_progress, manager_down, missing_gpu, not_ready, stuck
from qops.evidence.driver_setup import DriverSetup
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.pcie import PcieTree
from qops.evidence.process import CudaResults
from qops.rule import Confidence, Fix, Found, RuledOut, rule


@rule(
    "CUD007",
    "fabric-state-in-progress",
    explains=("cuda-error", "no-visible-gpu"),
    fix=(
        Fix(
            "restore the missing GPU or switch, then restart the fabric manager and reset the GPUs",
            commands=("nvidia-smi -q | grep -A 3 'Fabric$'", "lspci -d 10de: -nn"),
            risk="a reset ends every job on this host's GPUs",
        ),
    ),
)
def fabric_state_in_progress(
    logs: Logs,
    results: CudaResults | None,
    gpus: Gpus | None,
    setup: DriverSetup | None,
    tree: PcieTree | None,
) -> Iterator[Found | RuledOut]:
    """The NVLink fabric never completes on some or all GPUs."""
    waiting, refused = in_progress(logs, gpus), not_ready(logs, results)
    count, short = missing_gpu(logs, gpus)
    up = quotes(logs.find(system.FABRIC_MANAGER_UP), 1)
    if not waiting and not (refused and (short or up)):
        return
    down = manager_down(logs, gpus, setup, tree)
    if down:
        yield RuledOut("the fabric manager does not run, so the fabric cannot complete", down[:1])
        return
    names = ", ".join(str(g.index) for g in stuck(gpus))
    yield Found(
        subject=f"GPUs {names}" if names else "host",
        message=(
            "the fabric state is In Progress" if waiting else "CUDA answers 802 although the fabric manager is there"
        )
        + (f", and only {count} GPUs are attached" if short else "")
        + (", while the fabric manager runs" if up else ""),
        evidence=(*waiting[:3], *short, *up, *refused[:1]),
        confidence=Confidence.CERTAIN if waiting and (short or up) else Confidence.LIKELY,
    )
