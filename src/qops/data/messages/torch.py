"""Messages of PyTorch's process groups and launcher that are consequences, whatever the cause is."""

from qops.evidence.message import Message

WATCHDOG_TIMEOUT = Message(
    "torch-watchdog-timeout",
    r"Watchdog caught collective operation timeout|failure detected by watchdog|watchdog got stuck for|"
    r"Terminating the process after attempting to dump debug info, due to (?:ProcessGroupNCCL )?watchdog hang",
    ("watchdog",),
    "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp (2.11, run); pytorch issues 115388, 136390",
)
