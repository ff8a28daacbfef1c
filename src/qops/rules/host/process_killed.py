"""HST904: a process was killed, and nothing seen says by whom."""

from collections.abc import Iterator

from qops.data.messages import kernel, system
from qops.evidence.container import Containers
from qops.evidence.message import Logs, quotes
from qops.evidence.torch import TorchLog
from qops.rule import Confidence, Fix, Found, Role, rule

KILLED = (137, -9)  # 128 + SIGKILL as a shell says it, -SIGKILL as Python says it


@rule(
    "HST904",
    "process-killed",
    role=Role.SYMPTOM,
    fix=(
        Fix(
            "look for the kernel's word before memory is blamed: exit status 137 says SIGKILL, not who sent it",
            commands=("journalctl -k -b --no-pager --grep 'oom|Killed process'",),
        ),
    ),
)
def process_killed(logs: Logs, containers: Containers | None, torch: TorchLog | None) -> Iterator[Found]:
    """A process was killed (exit status 137 or -9), and nothing that was seen says by whom."""
    if logs.find(kernel.NOT_OOM) or any(c.oom_killed is False for c in (containers.containers if containers else ())):
        return
    exits = tuple(e for e in torch.exits if e.code in KILLED) if torch else ()
    boxes = tuple(c for c in (containers.containers if containers else ()) if c.exit_code in KILLED)
    hits = logs.find(system.EXIT_KILLED)
    if exits or boxes or hits:
        yield Found(
            subject=f"rank {exits[0].rank}" if exits else boxes[0].name if boxes else "process",
            message="a process was killed by signal 9",
            evidence=(*(e.quote for e in exits[:2]), *(c.quote for c in boxes[:1]), *quotes(hits, 2)),
            confidence=Confidence.CERTAIN,
        )
