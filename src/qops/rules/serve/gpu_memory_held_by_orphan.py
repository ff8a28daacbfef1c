"""SRV016: a worker of an engine that ended still holds GPU memory."""

from collections.abc import Iterator

from qops.data.messages import engine
from qops.evidence.gpu import Gpus
from qops.evidence.message import Logs, quotes
from qops.evidence.process import Processes
from qops.rule import Confidence, Fix, Found, RuledOut, about, rule

WORKERS = ("VLLM::", "sglang::")  # setproctitle names of what an engine's server starts


@rule(
    "SRV016",
    "gpu-memory-held-by-orphan",
    explains=("engine-core-failed", "job-failed", "gb10-unified-memory-oom"),
    fix=(
        Fix(
            "end that process and those below it; then start the engine again with the memory fraction that it had",
            commands=("ps -o pid,ppid,lstart,args -p PID", "kill PID"),
            risk="look first whether a running server still uses it",
        ),
    ),
)
def gpu_memory_held_by_orphan(logs: Logs, gpus: Gpus, processes: Processes) -> Iterator[Found | RuledOut]:
    """A worker of an engine that ended still holds GPU memory."""
    refused = logs.find(engine.FREE_MEMORY_SHORT)
    if not refused:
        return
    holders = [p for p in gpus.processes or () if p.memory and p.name.startswith(WORKERS)]
    for holder in holders:
        last = next(reversed(processes.of(holder.pid)), None)
        if last is None or last.parent is None:
            continue
        if last.parent != 1:
            yield RuledOut(f"pid {holder.pid} has a server above it (pid {last.parent})", (last.quote,))
            continue
        yield Found(
            f"pid {holder.pid}",
            f"{holder.name} holds {(holder.memory or 0) / 2**30:.1f} GiB, its server is gone, and a new engine finds "
            "too little free memory",
            (*quotes(refused, 1), holder.quote, last.quote),
            Confidence.LIKELY,
            fix=about(gpu_memory_held_by_orphan.fix, holder.pid),
        )
        return
