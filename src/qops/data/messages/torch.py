"""Messages of PyTorch's process groups and launcher that are consequences, whatever the cause is."""

from qops.evidence.message import Message

WATCHDOG_TIMEOUT = Message(
    "torch-watchdog-timeout",
    r"Watchdog caught collective operation timeout|failure detected by watchdog|watchdog got stuck for|"
    r"Terminating the process after attempting to dump debug info, due to (?:ProcessGroupNCCL )?watchdog hang",
    ("watchdog",),
    "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp (2.11, run); pytorch issues 115388, 136390",
)
GLOO_TIMEOUT = Message(
    "torch-gloo-timeout",
    r"Timed out waiting \d+ms for (?:recv|send) operation to complete",
    ("Timed out waiting",),
    "gloo/transport/tcp/unbound_buffer.cc",
)
STORE_TIMEOUT = Message(
    "torch-store-timeout",
    r"(?:DistStoreError|wait timeout after \d+ms|Timed out after \d+ seconds waiting for clients)",
    ("DistStoreError", "wait timeout after", "waiting for clients"),
    "torch/csrc/distributed/c10d/TCPStore.cpp",
)
