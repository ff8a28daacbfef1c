"""The way from an executable in `bin` to the tool that it stands for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from . import boot, boot_loader, bridges, kernel_log, kmod, load_switch, machine, pci, rdma, settle
from .smi import cli

_PIPE = 141  # what a shell sees of a tool that SIGPIPE ended

TOOLS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "nvidia-smi": cli.main,
    "lspci": pci.main,
    "setpci": bridges.setpci,
    "update-grub": boot_loader.update_grub,
    "dmesg": kernel_log.main,
    "modprobe": kmod.modprobe,
    "rmmod": kmod.rmmod,
    "lsmod": kmod.lsmod,
    "modinfo": kmod.modinfo,
    "uname": machine.uname,
    "lscpu": machine.lscpu,
    "qops-lab-boot": boot.main,
    "qops-lab-settle": settle.main,
    "qops-lab-load": load_switch.main,
    **{name: partial(rdma.main, name) for name in ("ibstat", "show_gids", "ibdev2netdev", "ethtool")},
}


def run(tool: str, arguments: Sequence[str]) -> int:
    """Run a tool; a reader that closes the pipe early ends it quietly, as it does the real one."""
    try:
        status = TOOLS[tool](arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE
    except KeyboardInterrupt:
        return 130
    return status
