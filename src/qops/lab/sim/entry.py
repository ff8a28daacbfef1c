"""The way from an executable in `bin` to the tool that it stands for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

_PIPE = 141  # what a shell sees of a tool that SIGPIPE ended

# Module and function of each. A tool imports what it needs alone: a host is asked by twenty of them at once.
TOOLS: Mapping[str, tuple[str, str]] = {
    "nvidia-smi": ("smi.cli", "main"),
    "lspci": ("pci", "main"),
    "setpci": ("bridges", "setpci"),
    "update-grub": ("boot_loader", "update_grub"),
    "dmesg": ("kernel_log", "main"),
    "modprobe": ("kmod", "modprobe"),
    "rmmod": ("kmod", "rmmod"),
    "lsmod": ("kmod", "lsmod"),
    "modinfo": ("kmod", "modinfo"),
    "uname": ("machine", "uname"),
    "lscpu": ("machine", "lscpu"),
    "qops-lab-boot": ("boot", "main"),
    "qops-lab-settle": ("settle", "main"),
    "qops-lab-load": ("load_switch", "main"),
    "qops-lab-job": ("shared_job", "main"),
    "ibstat": ("rdma", "ibstat"),
    "show_gids": ("rdma", "show_gids"),
    "ibdev2netdev": ("rdma", "ibdev2netdev"),
    "ethtool": ("rdma", "ethtool"),
}


def run(tool: str, arguments: Sequence[str]) -> int:
    """Run a tool; a reader that closes the pipe early ends it quietly, as it does the real one."""
    try:
        module, function = TOOLS[tool]
        status: int = getattr(import_module(f".{module}", __package__), function)(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE
    except KeyboardInterrupt:
        return 130
    return status
