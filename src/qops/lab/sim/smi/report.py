"""`nvidia-smi -q`: the text report, its sections, and the same as XML."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape

from ..boards import Board
from ..hardware import Gpu
from .facts import facts
from .layout import LAYOUT
from .snapshot import Snapshot

# The text report gives these as hexadecimal with a prefix, the XML without.
_BARE = ("pci_bus", "pci_device", "pci_domain", "pci_base_class", "pci_sub_class", "pci_device_id", "pci_sub_system_id")

# What `-d` takes, and the blocks that it then prints.
SECTIONS = {
    "MEMORY": ("FB Memory Usage", "BAR1 Memory Usage", "Conf Compute Protected Memory Usage"),
    "UTILIZATION": ("Utilization", "Encoder Stats", "FBC Stats"),
    "ECC": ("ECC Mode", "ECC Errors"),
    "TEMPERATURE": ("Temperature",),
    "POWER": (
        "GPU Power Readings",
        "GPU Memory Power Readings_",
        "Module Power Readings",
        "Power Smoothing",
        "Workload Power Profiles",
    ),
    "CLOCK": (
        "Clocks",
        "Applications Clocks",
        "Default Applications Clocks",
        "Deferred Clocks",
        "Max Clocks",
        "Max Customer Boost Clocks",
        "Clock Policy",
    ),
    "COMPUTE": ("Compute Mode",),
    "PIDS": ("Processes",),
    "PERFORMANCE": (
        "Performance State",
        "Clocks Event Reasons",
        "Clocks Event Reasons Counters",
        "Sparse Operation Mode",
    ),
    "SUPPORTED_CLOCKS": ("Supported Clocks",),
    "PAGE_RETIREMENT": ("Retired Pages",),
    "ACCOUNTING": ("Accounting Mode", "Accounting Mode Buffer Size"),
    "ENCODER_STATS": ("Encoder Stats",),
    "ROW_REMAPPER": ("Remapped Rows",),
    "FABRIC": ("Fabric",),
}


@dataclass(frozen=True)
class Line:
    """One line of the layout."""

    depth: int
    label: str
    tag: str
    value: str  # empty: the line opens a block
    lifted: bool  # in the XML one level higher


@cache
def lines(branch: int) -> tuple[Line, ...]:
    """Return the layout of a driver branch."""
    found = []
    for row in LAYOUT.strip("\n").split("\n"):
        parts = [part.strip() for part in row.split(" | ")]
        since = parts[3] if len(parts) > 3 else ""
        if (since.startswith("<") and branch >= int(since[1:])) or (since.isdigit() and branch < int(since)):
            continue
        depth = (len(row) - len(row.lstrip())) // 4
        value = parts[2] if len(parts) > 2 else ""
        found.append(Line(depth, parts[0], parts[1].lstrip("^"), value, parts[1].startswith("^")))
    return tuple(found)


def _branch(shot: Snapshot) -> int:
    return int(shot.versions.library.split(".")[0])


def _field(depth: int, label: str, value: str) -> str:
    """Return a line of the text report: the colon is in column 56."""
    return f"{'    ' * depth}{label}".ljust(55) + f": {value}".rstrip()


def supported(board: Board) -> Iterator[tuple[int, list[int]]]:
    """Yield each supported memory clock with its graphics clocks, in MHz, highest first."""
    for memory in board.memory_clocks:
        yield memory, list(range(board.sm[1], board.sm[0] - 1, -board.clock_step))


def _processes_text(shot: Snapshot, gpu: Gpu) -> list[str]:
    mine = [process for process in shot.processes if process.gpu == gpu.index]
    if not mine:
        return [_field(1, "Processes", "None")]
    rows = ["    Processes"]
    for process in mine:
        rows += [
            _field(2, "GPU instance ID", "N/A"),
            _field(2, "Compute instance ID", "N/A"),
            _field(2, "Process ID", str(process.pid)),
            _field(3, "Type", "C"),
            _field(3, "Name", process.name),
            _field(3, "Used GPU Memory", f"{process.memory} MiB"),
        ]
    return rows


def _supported_text(board: Board) -> list[str]:
    clocks = list(supported(board))
    if not clocks:
        return [_field(1, "Supported Clocks", "N/A")]
    rows = ["    Supported Clocks"]
    for memory, graphics in clocks:
        rows += [_field(2, "Memory", f"{memory} MHz"), *(_field(3, "Graphics", f"{clock} MHz") for clock in graphics)]
    return rows


def _gpu_text(shot: Snapshot, gpu: Gpu, blocks: tuple[str, ...]) -> list[str]:
    values = facts(shot, gpu)
    # The recording's board part number differs between the two reports: it was blanked in one.
    values["board_part"] = str(shot.hardware.raw["gpus"].get("board_part_text", values["board_part"]))
    rows = ["GPU " + gpu.slot.address.smi]
    shown = not blocks
    for line in lines(_branch(shot)):
        if line.depth == 0:
            shown = not blocks or line.label in blocks
        if not shown or line.label == "-":
            continue
        if line.value == "@processes_text":
            rows += _processes_text(shot, gpu)
        elif line.value:
            value = line.value[1:] if line.value.startswith("=") else values[line.value]
            rows.append(_field(line.depth + 1, line.label, value))
        else:
            rows.append("    " * (line.depth + 1) + line.label.replace("_", " "))
    if "Supported Clocks" in blocks:
        rows += _supported_text(shot.hardware.board)
    return [*rows, ""]


def text(shot: Snapshot, gpus: tuple[Gpu, ...], blocks: tuple[str, ...] = ()) -> str:
    """Return the text report of some GPUs; with `blocks` only these."""
    rows = [
        "",
        "==============NVSMI LOG==============",
        "",
        _field(0, "Timestamp", time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(shot.now))),
        _field(0, "Driver Version", shot.versions.library),
        _field(0, "CUDA Version", shot.hardware.cuda),
        "",
        _field(0, "Attached GPUs", str(len(shot.gpus))),
    ]
    for gpu in gpus:
        rows += _gpu_text(shot, gpu, blocks)
    return "\n".join(rows) + "\n"


def _processes_xml(shot: Snapshot, gpu: Gpu) -> list[str]:
    rows = ["\t\t<processes>"]
    for process in shot.processes:
        if process.gpu != gpu.index:
            continue
        rows += [
            "\t\t\t<process_info>",
            "\t\t\t\t<gpu_instance_id>N/A</gpu_instance_id>",
            "\t\t\t\t<compute_instance_id>N/A</compute_instance_id>",
            f"\t\t\t\t<pid>{process.pid}</pid>",
            "\t\t\t\t<type>C</type>",
            f"\t\t\t\t<process_name>{escape(process.name, quote=False)}</process_name>",
            f"\t\t\t\t<used_memory>{process.memory} MiB</used_memory>",
            "\t\t\t</process_info>",
        ]
    return [*rows, "\t\t</processes>"]


def _block_xml(shot: Snapshot, gpu: Gpu, tag: str, kind: str) -> list[str]:
    if kind == "@processes":
        return _processes_xml(shot, gpu)
    rows = [f"\t\t<{tag}>"]
    if kind == "@none":
        rows.append("\t\t\tNone")
    if kind == "@supported_clocks":
        for memory, graphics in supported(shot.hardware.board):
            rows += ["\t\t\t<supported_mem_clock>", f"\t\t\t\t<value>{memory} MHz</value>"]
            rows += [f"\t\t\t\t<supported_graphics_clock>{mhz} MHz</supported_graphics_clock>" for mhz in graphics]
            rows.append("\t\t\t</supported_mem_clock>")
        if not shot.hardware.board.memory_clocks:
            rows.append("\t\t\tN/A")
    return [*rows, f"\t\t</{tag}>"]


def _gpu_xml(shot: Snapshot, gpu: Gpu) -> list[str]:
    values = facts(shot, gpu)
    rows = [f'\t<gpu id="{gpu.slot.address.smi}">']
    open_tags: list[str] = []
    for line in lines(_branch(shot)):
        if line.tag == "-":
            continue
        depth = line.depth - line.lifted
        while len(open_tags) > depth:
            rows.append("\t" * (1 + len(open_tags)) + f"</{open_tags.pop()}>")
        if line.value.startswith("@"):
            rows += _block_xml(shot, gpu, line.tag, line.value)
        elif line.value:
            value = line.value[1:] if line.value.startswith("=") else values[line.value]
            if line.tag in _BARE and value.startswith("0x"):
                value = value[2:]
            rows.append("\t" * (2 + depth) + f"<{line.tag}>{escape(value, quote=False)}</{line.tag}>")
        else:
            rows.append("\t" * (2 + depth) + f"<{line.tag}>")
            open_tags.append(line.tag)
    while open_tags:
        rows.append("\t" * (1 + len(open_tags)) + f"</{open_tags.pop()}>")
    return [*rows, "\t</gpu>", ""]


def xml(shot: Snapshot, gpus: tuple[Gpu, ...]) -> str:
    """Return the XML report of some GPUs."""
    stamp = time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(shot.now))
    rows = [
        '<?xml version="1.0" ?>',
        '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">',
        "<nvidia_smi_log>",
        f"\t<timestamp>{stamp}</timestamp>",
        f"\t<driver_version>{shot.versions.library}</driver_version>",
        f"\t<cuda_version>{shot.hardware.cuda}</cuda_version>",
        f"\t<attached_gpus>{len(shot.gpus)}</attached_gpus>",
    ]
    for gpu in gpus:
        rows += _gpu_xml(shot, gpu)
    return "\n".join([*rows, "</nvidia_smi_log>"]) + "\n"
