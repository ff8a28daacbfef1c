"""HST020: a process spins in the GPU driver and cannot be killed."""

from collections.abc import Iterator

from qops.data.messages import kernel, process
from qops.evidence.message import Logs, quotes
from qops.evidence.process import Process, Processes
from qops.rule import Confidence, Fix, Found, rule

# Where nvidia-uvm waits for a GPU that no longer answers (uvm_common.c uvm_spin_loop, uvm_tracker.c).
WAITS = ("uvm_spin_loop", "uvm_tracker_wait")
OFTEN = 3  # samples in which a process must be there: any program passes through for a moment


@rule(
    "HST020",
    "process-stuck-in-driver",
    explains=("task-blocked", "nvidia-smi-hung", "collective-hang", "nvml-failed"),
    fix=(
        Fix(
            "restart the host: such a process does not end, and its GPU cannot be reset",
            commands=("cat /proc/PID/stack", "journalctl -k -b --no-pager --grep 'Xid|nvidia'"),
            risk="every job on this host ends",
            needs_reboot=True,
        ),
        Fix("move to a newer driver when it happens again"),
    ),
)
def process_stuck_in_driver(logs: Logs, processes: Processes | None) -> Iterator[Found]:
    """A process spins in the GPU driver and cannot be killed."""
    for pid, samples in _by_pid(processes).items():
        seen = [p for p in samples if any(p.wchan.startswith(w) or _in(p.stack, w) for w in WAITS)]
        if len(seen) >= OFTEN and len(seen) == len(samples):
            text = (
                f"each of {len(seen)} samples finds it in {WAITS[0]}: the driver waits for a GPU that does not answer"
            )
            yield Found(f"pid {pid}", text, tuple(p.quote for p in seen[:2]), Confidence.LIKELY)
            return
    hits = logs.find(process.UVM_SPIN)
    long = logs.find(kernel.TASK_BLOCKED, process.SOFT_LOCKUP)
    if hits and long:
        text = "the kernel reports a task that waits in nvidia-uvm for a GPU that does not answer"
        yield Found("process", text, quotes((*long[:2], *hits[:2])), Confidence.LIKELY)


def _by_pid(processes: Processes | None) -> dict[int, tuple[Process, ...]]:
    return {pid: processes.of(pid) for pid in processes.pids} if processes else {}


def _in(stack: tuple[str, ...], name: str) -> bool:
    return any(frame.startswith(name) for frame in stack)
