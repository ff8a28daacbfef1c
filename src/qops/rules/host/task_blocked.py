"""HST905: a task waits in the kernel for minutes."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, rule


@rule(
    "HST905",
    "task-blocked",
    role=Role.SYMPTOM,
    fix=(
        Fix(
            "read where it waits",
            commands=(
                "ps -eo pid,stat,wchan:32,args | awk '$2 ~ /^D/'",
                "journalctl -k -b --no-pager --grep 'blocked for'",
            ),
        ),
    ),
)
def task_blocked(logs: Logs) -> Iterator[Found]:
    """A task waits in the kernel for minutes (hung task)."""
    hits = logs.find(kernel.TASK_BLOCKED)
    if hits:
        g = hits[0].groups
        yield Found(
            subject=g["task"],
            message=f"{g['task']} waits in the kernel for more than {g['seconds']} seconds",
            evidence=quotes(hits, 2),
            confidence=Confidence.CERTAIN,
        )
