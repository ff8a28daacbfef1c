"""NCL016: NVLink multicast fails although fabric manager runs: its state is stale, or IMEX is absent."""

from collections.abc import Iterator

from qops.data.messages import launch
from qops.data.messages import nccl as messages
from qops.evidence.gpu import Gpus
from qops.evidence.message import Hit, Logs, quotes
from qops.rule import Confidence, Fix, Found, RuledOut, rule

_OUT_OF_MEMORY = "2"  # CUDA_ERROR_OUT_OF_MEMORY: a full GPU, not a stale fabric
# nvls.cc is also the first that asks the driver for its device: CUDA_ERROR_NOT_INITIALIZED (3) comes before multicast,
# on boards that have none as well (NVIDIA/nccl 1029, an A100).
_ELSEWHERE = ("out of memory", "initialization error")


@rule(
    "NCL016",
    "nvls-multicast-fabric-state",
    explains=(
        "nccl-error",
        "collective-hang",
        "job-failed",
        "engine-core-failed",
    ),
    fix=(
        Fix(
            "stop all GPU processes, stop fabric manager, reset all GPUs together, start fabric manager, wait until "
            "`nvidia-smi -q` says Fabric State: Completed; across machines also start nvidia-imex",
            commands=("systemctl status nvidia-fabricmanager", "nvidia-smi -q | grep -A2 Fabric", "nvidia-imex-ctl -N"),
            risk="every job on this machine ends",
        ),
        Fix(
            "NCCL_NVLS_ENABLE=0 (across machines NCCL_MNNVL_ENABLE=0): all-reduce without multicast", kind="workaround"
        ),
    ),
)
def nvls_multicast_fabric_state(logs: Logs, gpus: Gpus | None) -> Iterator[Found | RuledOut]:
    """NVLink multicast fails although fabric manager runs (its state is stale, or IMEX is absent)."""
    imex = logs.find(messages.MNNVL_IMEX)
    if imex:
        yield Found(
            "NVLink domain",
            "NCCL sees a multi-node NVLink domain that does not work: IMEX is not set up",
            quotes(imex, 2),
            Confidence.CERTAIN,
        )
        return
    bind = logs.find(messages.NVLS_BIND, messages.MULTICAST_STATE, messages.MULTICAST_TEAM)
    other = [h for h in logs.find(messages.NVLS_CUDA_FAILURE) if not _elsewhere(h)]
    errors = {h.groups["error"] for h in bind if h.groups.get("error")}
    if errors == {_OUT_OF_MEMORY}:
        yield RuledOut("multicast memory could not be had because the GPU is full (CUDA error 2)", quotes(bind, 1))
        return
    hits = (*bind, *other)
    if not hits:
        return
    busy = next((g for g in (gpus.gpus if gpus else ()) if g.fabric_state and g.fabric_state != "Completed"), None)
    restarted = logs.find(launch.FABRIC_MANAGER_START)
    state = f"; GPU {busy.index} says Fabric State: {busy.fabric_state}" if busy else ""
    again = "; fabric manager was started again while the GPUs were not reset" if len(restarted) > 1 else ""
    code = next(iter(errors), "") or (other[0].groups.get("error", "") if other else "")
    yield Found(
        "NVSwitch fabric",
        f"NVLink multicast is refused{f' (CUDA error {code})' if code else ''}{state}{again}",
        (*quotes(hits, 3), *quotes(restarted[-1:]), *((busy.quote,) if busy else ())),
        Confidence.CERTAIN if bind else Confidence.LIKELY,
    )


def _elsewhere(hit: Hit) -> bool:
    return hit.groups.get("error") == _OUT_OF_MEMORY or hit.groups.get("text", "") in _ELSEWHERE
