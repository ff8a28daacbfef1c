"""HST015: taking down an overlay mount flushes the whole filesystem below it."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.kernel import Sysctls
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, rule


@rule(
    "HST015",
    "docker-overlay-sync-stall",
    explains=("task-blocked",),
    fix=(
        Fix(
            "bound the dirty memory, so that a flush is short",
            commands=(
                "sysctl vm.dirty_bytes vm.dirty_background_bytes vm.dirty_ratio",
                "grep -E 'Dirty|Writeback' /proc/meminfo",
            ),
        ),
    ),
)
def docker_overlay_sync_stall(logs: Logs, sysctls: Sysctls | None) -> Iterator[Found]:
    """Taking down an overlay mount flushes the whole filesystem below it, and the container engine waits."""
    hits = logs.find(kernel.OVERLAY_SYNC)
    if not hits:
        return
    blocked = logs.find(kernel.TASK_BLOCKED)
    ratio = sysctls.values.get("vm.dirty_ratio", "") if sysctls else ""
    name = blocked[0].groups["task"] if blocked else "the container engine"
    yield Found(
        subject=name,
        message=f"{name} waits in an overlay sync that flushes the whole filesystem"
        + (f"; dirty pages may reach {ratio} % of memory" if ratio not in ("", "0") else ""),
        evidence=(*quotes(blocked, 1), *quotes(hits, 2)),
        confidence=Confidence.CERTAIN if blocked else Confidence.LIKELY,
    )
