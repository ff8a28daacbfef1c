"""HST809: a container ended with 137 and the engine says that it was not for memory."""

from collections.abc import Iterator

from qops.data.messages import kernel, system
from qops.evidence.container import Containers
from qops.evidence.message import Logs, quotes
from qops.rule import Confidence, Found, Role, Severity, rule

KILLED = 137  # 128 + SIGKILL


@rule("HST809", "benign-exit-137", role=Role.INFO, severity=Severity.INFO)
def benign_exit_137(logs: Logs, containers: Containers | None) -> Iterator[Found]:
    """A container ended with 137 and was not out of memory: something stopped it with SIGKILL."""
    boxes = tuple(
        c for c in (containers.containers if containers else ()) if c.exit_code == KILLED and c.oom_killed is False
    )
    hits = logs.find(system.EXIT_KILLED)
    said = logs.find(kernel.NOT_OOM)
    if (boxes or (hits and said)) and not logs.find(kernel.OOM_KILL, kernel.CONTAINER_OOM):
        yield Found(
            subject=boxes[0].name if boxes else "container",
            message="exit status 137 without an out-of-memory kill: it was stopped with SIGKILL, as `docker stop` does",
            evidence=(*(c.quote for c in boxes[:1]), *quotes(hits, 1), *quotes(said, 1)),
            confidence=Confidence.LIKELY,
        )
