"""The plain `nvidia-smi` table and `-L`."""

from __future__ import annotations

import time

from ..hardware import Gpu
from .facts import facts
from .snapshot import Snapshot

_RULE = "+-----------------------------------------+------------------------+----------------------+"
_WIDE = "+-----------------------------------------------------------------------------------------+"
_NAME = 27  # a longer name ends in three dots


def _rows(shot: Snapshot, gpu: Gpu) -> list[str]:
    """Return the three lines of one GPU. Figures are cut, not rounded, as the real table does."""
    values = facts(shot, gpu)
    reading = shot.readings[gpu.index]
    board = shot.hardware.board
    name = board.name if len(board.name) <= _NAME else board.name[: _NAME - 3] + "..."
    on = "On" if shot.persistence(gpu) else "Off"
    fan = "N/A" if reading.fan is None else f"{reading.fan}%"
    limit = " N/A " if reading.limit is None else f"{int(reading.limit):4d}W"
    memory = " Not Supported          "
    if board.memory is not None:
        memory = f"{f'{reading.used}MiB':>11} / {f'{board.memory}MiB':>9} "
    ecc = values["ecc_v_dram_uncorrectable"]
    temp = f"{reading.temp}C"
    return [
        f"|{gpu.index:4d}  {name:<27}   {on:>3}  |   {gpu.slot.address.smi} Off | {ecc:>20} |",
        f"|{fan:>4}{temp:>6}{reading.pstate:>6}{int(reading.power):15d}W / {limit} |{memory}|"
        f"{reading.util:7d}%{'Default':>13} |",
        f"|{'':41}|{'':24}| {board.mig:>20} |",
    ]


def _processes(shot: Snapshot, gpus: tuple[Gpu, ...]) -> list[str]:
    shown = {gpu.index for gpu in gpus}
    rows = []
    for process in shot.processes:
        if process.gpu in shown:
            name = process.name if len(process.name) < 38 else "..." + process.name[-34:]
            size = f"{process.memory}MiB"
            rows.append(f"|{process.gpu:5d}   N/A  N/A{process.pid:16d}{'C':>7}   {name:<38}{size:>8} |")
    return rows or [f"|  {'No running processes found':<87}|"]


def table(shot: Snapshot, gpus: tuple[Gpu, ...]) -> str:
    """Return the plain table."""
    version = shot.versions.library
    rows = [
        time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(shot.now)) + "       ",
        _WIDE,
        f"| NVIDIA-SMI {version:<23}Driver Version: {version:<15}CUDA Version: {shot.hardware.cuda:<9}|",
        _RULE,
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|                                         |                        |               MIG M. |",
        "|" + _RULE.replace("-", "=")[1:-1] + "|",
    ]
    for gpu in gpus:
        rows += [*_rows(shot, gpu), _RULE]
    rows += [
        "",
        _WIDE,
        f"| {'Processes:':<88}|",
        "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
        "|        ID   ID                                                               Usage      |",
        "|" + "=" * 89 + "|",
        *_processes(shot, gpus),
        _WIDE,
    ]
    return "\n".join(rows) + "\n"


def listing(shot: Snapshot, gpus: tuple[Gpu, ...]) -> str:
    """Return `-L`."""
    name = shot.hardware.board.name
    return "".join(f"GPU {gpu.index}: {name} (UUID: {gpu.uuid})\n" for gpu in gpus)
