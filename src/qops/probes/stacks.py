"""Stacks of Python processes, as py-spy dumps them."""

from msgspec import Struct

from qops.evidence.text import Quote, Text
from qops.pattern import lazy

_PROCESS = lazy(r"\s*Process ([0-9]{1,10}): ?(.*)$")
_THREAD = lazy(r"\s*Thread (?:0x)?[0-9A-Fa-f]{1,16} \(([\w+]{1,20})\)(?:: \"(.{0,80})\")?\s*$")
# `    synchronize (torch/cuda/__init__.py:1162)`; native frames end in `(libcuda.so.580.159.04)`.
_FRAME = lazy(r"\s+(\S.{0,300}?) \(([^()]{1,400})\)\s*$")
_ADDRESS = lazy(r"0x[0-9a-fA-F]+$")


class Stack(Struct, frozen=True):
    """The stack of a process's main thread (or its first), innermost first; frames without a name are left out."""

    pid: int
    command: str
    frames: tuple[str, ...]
    quote: Quote


def stacks(text: Text) -> tuple[Stack, ...]:
    """Return the stack of every process that `text` dumps."""
    found: list[Stack] = []
    index = 0
    while index < len(text.lines):
        match = _PROCESS.match(text.lines[index][:2000]) if "Process " in text.lines[index] else None
        if match is None:
            index += 1
            continue
        start, threads, index = index, *_threads(text, index + 1)
        if threads:
            frames = threads.get("MainThread") or next(iter(threads.values()))
            found.append(Stack(int(match[1]), match[2].strip(), frames, text.quote(start)))
    return tuple(found)


def _threads(text: Text, index: int) -> tuple[dict[str, tuple[str, ...]], int]:
    """Return the named threads that follow, and the index of the first line that belongs to none."""
    threads: dict[str, list[str]] = {}
    current: list[str] | None = None
    inside: tuple[str, ...] = ("Python v", "Error:", "Caused by", " ")
    while index < len(text.lines):
        line = text.lines[index][:1000]
        if thread := _THREAD.match(line):
            current = threads.setdefault(thread[2] or f"thread {len(threads)}", [])
            inside = ("     ",)  # the locals of a frame
        elif current is not None and (frame := _FRAME.match(line)):
            if not _ADDRESS.match(frame[1]):
                current.append(frame[1])
        elif line.strip() and (_PROCESS.match(line) or not line.startswith(inside)):
            break
        index += 1
    return {name: tuple(frames) for name, frames in threads.items() if frames}, index
