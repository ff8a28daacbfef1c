"""What befalls single processes: limits that they reach, and places in the kernel where they stay."""

from qops.evidence.message import Message

OPEN_FILES = Message(
    "system-open-files",
    # vLLM and SGLang warn at their start of what a low limit "can cause", and quote the error for it.
    r"(?P<watch>.*(?:inotify|fsnotify|file ?watch).*)?(?P<warned>.*\b(?:can|could|may|might) (?:cause|lead to)\b.*)?"
    r"too many open files(?! in system)",
    ("too many open files",),
    "errno 24 as libc, Python, Go, Rust and NCCL print it; vllm/utils/system_utils.py, set_ulimit",
)
UVM_SPIN = Message(
    "kernel-uvm-spin",
    r"\b(?:uvm_spin_loop|uvm_tracker_wait\w*)\+0x",
    ("uvm_spin_loop", "uvm_tracker_wait"),
    "NVIDIA/open-gpu-kernel-modules#456",
)
SOFT_LOCKUP = Message(
    "kernel-soft-lockup",
    r"soft lockup - CPU#\d+ stuck for \d+s|rcu\w*: INFO: rcu\w* (?:self-)?detected (?:expedited )?stalls?",
    ("soft lockup", "detected stall", "detected expedited stall", "self-detected stall"),
    "Linux kernel/watchdog.c, kernel/rcu/tree_stall.h",
)

# Not a message of its own (modprobe has some, and calls FATAL what a host can do without): what it is in a line in which no other is known keeps a host from being called healthy.
ERROR_LINE = Message(
    "process-error-line",
    r"(?-i:NCCL WARN |^(?:.{0,120}[\s\])])?(?:[a-zA-Z_]\w{0,40}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception)(?::|$)"
    r"|(?<![\w=-])(?<!modprobe: )(?:ERROR|FATAL|CRITICAL)(?=[ :\]])|\bBUG: )",
    ("NCCL WARN", "Error", "Exception", "FATAL", "CRITICAL", "BUG: "),
    "levels of Python's logging, of glog and NCCL; the last line of a Python traceback; Linux lib/bug.c",
)
