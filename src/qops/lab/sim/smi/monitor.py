"""`nvidia-smi dmon` and `pmon`: columns that a line is printed of at each interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from ..hardware import Gpu
from .snapshot import Snapshot

# Column, unit, width. Layout as printed by 595.91 on a public host, of `dmon -c 1 -s pucm`.
_DMON = {
    "p": (("pwr", "W"), ("gtemp", "C"), ("mtemp", "C")),
    "u": (("sm", "%"), ("mem", "%"), ("enc", "%"), ("dec", "%"), ("jpg", "%"), ("ofa", "%")),
    "c": (("mclk", "MHz"), ("pclk", "MHz")),
    "v": (("pviol", "%"), ("tviol", "bool")),
    "m": (("fb", "MB"), ("bar1", "MB"), ("ccpm", "MB")),
    "e": (("sbecc", "errs"), ("dbecc", "errs"), ("pci", "errs")),
    "t": (("rxpci", "MB/s"), ("txpci", "MB/s")),
}
_ROUND = 10  # lines of GPUs between two headers


def groups(text: str, known: str, default: str) -> str:
    """Return the metric groups of `-s`. They are printed in the order in which they were asked for."""
    return "".join(dict.fromkeys(letter for letter in text or default if letter in known))


def _stamps(options: str) -> tuple[str, str, str]:
    """Return the start of both header lines and of a row for `-o D`, `-o T` or `-o DT`; the row by strftime."""
    if not options:
        return "# ", "# ", "  "
    date, clock = "D" in options, "T" in options
    names = ("Date".ljust(11) if date else "") + ("Time".ljust(12) if clock else "")
    shapes = ("YYYYMMDD".ljust(11) if date else "") + ("HH:MM:SS".ljust(12) if clock else "")
    row = (" %Y%m%d   " if date else " ") + ("%H:%M:%S    " if clock else "")
    return "#" + names, "#" + shapes, row


def _dmon_values(shot: Snapshot, gpu: Gpu) -> dict[str, str]:
    reading, board = shot.readings[gpu.index], shot.hardware.board
    nothing = "-"
    memory = board.memory is not None
    return {
        "pwr": str(int(reading.power)),
        "gtemp": str(reading.temp),
        "mtemp": str(reading.temp_memory) if board.memory_temp else nothing,
        "sm": str(reading.util),
        "mem": str(reading.util_memory),
        "enc": "0",
        "dec": "0",
        "jpg": "0",
        "ofa": "0",
        "mclk": str(reading.memory_clock) if reading.memory_clock else nothing,
        "pclk": str(reading.sm),
        "pviol": "100" if reading.reasons & 0x4 else "0",
        "tviol": "1" if reading.throttled else "0",
        "fb": str(reading.used) if memory else nothing,
        "bar1": str(board.bar1[1]) if memory else nothing,
        "ccpm": "0" if memory else nothing,
        "sbecc": "0",
        "dbecc": "0",
        "pci": "0",
        "rxpci": str(reading.rx // 1000),
        "txpci": str(reading.tx // 1000),
    }


def dmon(
    take: Callable[[], Snapshot],
    chosen: Callable[[Snapshot], tuple[Gpu, ...]],
    letters: str,
    rounds: Iterator[int],
    options: str = "",
) -> Iterator[str]:
    """Yield what dmon prints, a round at a time."""
    columns = [column for letter in letters for column in _DMON[letter]]
    first, second, stamp = _stamps(options)
    header = first + "gpu" + "".join(f"{name:>7}" for name, _ in columns) + " \n"
    header += second + "Idx" + "".join(f"{unit:>7}" for _, unit in columns) + " \n"
    for number in rounds:
        shot = take()
        text = header if number % _ROUND == 0 else ""
        start = time.strftime(stamp, time.localtime(shot.now))
        for gpu in chosen(shot):
            values = _dmon_values(shot, gpu)
            text += f"{start}{gpu.index:3d}" + "".join(f"{values[name]:>7}" for name, _ in columns) + " \n"
        yield text


def pmon(
    take: Callable[[], Snapshot], chosen: Callable[[Snapshot], tuple[Gpu, ...]], letters: str, rounds: Iterator[int]
) -> Iterator[str]:
    """Yield what pmon prints, a round at a time."""
    columns = [("sm", "%"), ("mem", "%"), ("enc", "%"), ("dec", "%"), ("jpg", "%"), ("ofa", "%")]
    columns = columns if "u" in letters else []
    if "m" in letters:
        columns = [*columns, ("fb", "MB"), ("ccpm", "MB")]
    header = "# gpu         pid   type" + "".join(f"{name:>7}" for name, _ in columns) + "    command \n"
    header += "# Idx           #    C/G" + "".join(f"{unit:>7}" for _, unit in columns) + "    name \n"
    for number in rounds:
        shot = take()
        text = header if number % _ROUND == 0 else ""
        for gpu in chosen(shot):
            mine = [process for process in shot.processes if process.gpu == gpu.index]
            reading = shot.readings[gpu.index]
            for process in mine:
                values = {
                    "sm": str(reading.util),
                    "mem": str(reading.util_memory),
                    "fb": str(process.memory),
                    "ccpm": "0",
                }
                cells = "".join(f"{values.get(name, '-'):>7}" for name, _ in columns)
                text += f"{gpu.index:5d}{process.pid:11d}{'C':>6}{cells}    {process.name[:15]:<15}\n"
            if not mine:
                text += f"{gpu.index:5d}{'-':>11}{'-':>6}{''.join(f'{chr(45):>7}' for _ in columns)}    {'-':<15}\n"
        yield text
