"""Messages of PyTorch's process groups and launcher that are consequences, whatever the cause is."""

from qops.evidence.message import Message

WATCHDOG_TIMEOUT = Message(
    "torch-watchdog-timeout",
    r"Watchdog caught collective operation timeout|failure detected by watchdog|watchdog got stuck for|"
    r"Terminating the process after attempting to dump debug info, due to (?:ProcessGroupNCCL )?watchdog hang",
    ("watchdog",),
    "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp (2.11, run); pytorch issues 115388, 136390",
)

COLLECTIVES_DIFFER = Message(
    "torch-collectives-differ",
    r"Detected mismatch between collectives on ranks(?:\. Rank (?P<a>\d{1,7}) is running (?:inconsistent )?collective"
    r"(?:.{0,2000}?but Rank (?P<b>\d{1,7}) is running collective)?)?",
    ("mismatch between collectives on ranks",),
    "torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp (TORCH_DISTRIBUTED_DEBUG=DETAIL), 1.9 to 2.13",
)
BARRIER_MISSED = Message(
    "torch-monitored-barrier",
    r"Ranks? (?P<ranks>\d{1,7}(?:, ?\d{1,7}){0,200}) failed to pass monitoredBarrier",
    ("failed to pass monitoredBarrier",),
    "torch/csrc/distributed/c10d/ProcessGroupGloo.cpp monitoredBarrier",
)
NOT_JOINED = Message(
    "torch-ranks-not-joining",
    r"Not all ranks joining collective(?:,? (?:sequence number: )?(?P<number>\d{1,15}))?",
    ("Not all ranks joining collective",),
    "torch/distributed/flight_recorder (torchfrtrace), 2.5 to 2.13",
)
MISSING_RANKS = Message(
    "torch-missing-ranks",
    r"\b[Mm]issing ranks(?::| are) \{(?P<ranks>\d{1,7}(?:, ?\d{1,7}){0,200})\}",
    ("issing ranks",),
    "torch/distributed/flight_recorder (torchfrtrace): a Python set",
)
NOT_DESTROYED = Message(
    "torch-group-not-destroyed",
    r"process group has NOT been destroyed before|destroy_process_group\(\) was not called before program exit",
    ("has NOT been destroyed", "destroy_process_group() was not called"),
    "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, 2.4 to 2.13: said when a program ends",
)
THREADS_SET = Message(
    "torch-threads-set",
    r"Setting OMP_NUM_THREADS environment variable for each process to be 1",
    ("Setting OMP_NUM_THREADS environment variable",),
    "torch/distributed/run.py: what torchrun says at every start",
)
