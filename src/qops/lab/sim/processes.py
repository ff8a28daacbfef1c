"""The processes that hold a GPU: the engine's, found in this host's own process table."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .hardware import Hardware

# vLLM and SGLang name their workers so; the number after TP is the tensor-parallel rank.
_ENGINE = re.compile(r"^(VLLM::|sglang::)")
_RANK = re.compile(r"TP(\d+)")
_SHARE = 0.9  # of the memory: what an engine takes by default


@dataclass(frozen=True)
class Process:
    """A process on a GPU; memory in MiB."""

    pid: int
    gpu: int
    name: str
    memory: int


def commands() -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number and the command line of each process."""
    for folder in Path(os.environ.get("QOPS_LAB_PROC", "/proc")).glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        yield int(folder.name), tuple(command.decode("utf-8", "replace").split("\0"))


def runs(*programs: str) -> bool:
    """Tell whether one of `programs` runs, itself or as the script of an interpreter."""
    return any(word.rsplit("/", 1)[-1] in programs for _, words in commands() for word in words[:4])


def _titles() -> Iterator[tuple[int, str]]:
    return ((pid, words[0].strip()) for pid, words in commands())


def running(hardware: Hardware) -> tuple[Process, ...]:
    """Return the engine's processes, each on the GPU of its rank, or on GPU 0 where it names none."""
    found = []
    for pid, title in sorted(_titles()):
        if not _ENGINE.match(title):
            continue
        rank = _RANK.search(title)
        gpu = int(rank.group(1)) if rank else 0
        if gpu < len(hardware.gpus):
            # A Spark's memory is the host's, of which the driver counts per process all the same.
            total = hardware.board.memory or hardware.memory_kib // 1024
            found.append(Process(pid, gpu, title.split(" ")[0], int(total * _SHARE)))
    workers = [process for process in found if "Worker" in process.name or "scheduler" in process.name]
    # With workers of its own, the engine core holds no GPU.
    return tuple(workers or found)
