"""HST014: the kernel killed a process for memory."""

from collections.abc import Iterator

from qops.data.messages import kernel
from qops.evidence.container import Containers
from qops.evidence.kernel import KernelLog, Memory
from qops.evidence.message import Logs, quotes
from qops.evidence.process import Cgroups
from qops.rule import Confidence, Fix, Found, Role, RuledOut, Severity, rule


@rule(
    "HST014",
    "host-oom-killer",
    explains=("process-killed", "rank-stopped", "cuda-error"),
    fix=(
        Fix(
            "give the job more memory (the cgroup's or container's limit, or the host's), or let it use less",
            commands=("free -h", "journalctl -k -b --no-pager --grep 'oom|Out of memory'"),
        ),
    ),
)
def host_oom_killer(
    logs: Logs,
    log: KernelLog | None,
    containers: Containers | None,
    memory: Memory | None,
    cgroups: Cgroups | None,
) -> Iterator[Found | RuledOut]:
    """The kernel killed a process for memory."""
    kills = log.oom_kills if log else ()
    counters = {c.quote.source for c in cgroups.cgroups} if cgroups else set()
    hits = [h for h in logs.find(kernel.OOM_KILL) if h.quote.source not in counters]
    boxes = tuple(c for c in (containers.containers if containers else ()) if c.oom_killed)
    said = logs.find(kernel.CONTAINER_OOM)
    counted = tuple(c for c in (cgroups.cgroups if cgroups else ()) if c.oom_kills)
    if not kills and not hits and not boxes and not said:
        if monitor := logs.find(kernel.RAY_OOM):
            yield Found(
                subject="worker",
                message="Ray's memory monitor killed a worker before the kernel had to: the host has too little memory",
                evidence=quotes(monitor, 2),
                confidence=Confidence.CERTAIN,
            )
        elif counted:
            yield Found(
                subject=f"cgroup of pid {counted[0].pid}",
                message=f"the kernel killed {counted[0].oom_kills} processes at its memory limit since it was made",
                evidence=tuple(c.quote for c in counted[:2]),
                confidence=Confidence.LIKELY,
                severity=Severity.WARNING,
                role=Role.CONTRIBUTING,  # when it was, and whether it mattered, the count does not say
            )
        return
    driver = logs.find(kernel.NO_MEMORY_NVRM)
    if driver:
        # On unified memory the driver runs out first; that is another fault with another cure.
        yield RuledOut("the NVIDIA driver ran out of the same memory: see gb10-unified-memory-oom", quotes(driver, 1))
        return
    victim = next((f"{k.process} (pid {k.pid})" for k in kills if k.process), "") or next(
        (f"{h.groups['name']} (pid {h.groups['pid']})" for h in hits if "name" in h.groups), ""
    )
    limited = boxes or said or any(k.cgroup for k in kills)
    limited = limited or any("cgroup" in h.groups or "MEMCG" in h.groups.get("constraint", "") for h in hits)
    yield Found(
        subject=victim or (boxes[0].name if boxes else "process"),
        message=f"the kernel killed {victim or 'a process'} for memory, "
        + ("at its cgroup's limit" if limited else "because the host had none left"),
        evidence=(
            *(k.quote for k in kills[:2]),
            *(quotes(hits, 2) if not kills else ()),
            *(b.quote for b in boxes[:1]),
            *quotes(said, 1),
            *(c.quote for c in counted[:1]),
            *((memory.quote,) if memory and not limited else ()),
        ),
        confidence=Confidence.CERTAIN,
    )
