"""What /proc says of single processes: answers of our own script, and what people paste of it."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from qops.evidence.process import Process
from qops.evidence.text import Quote, Text
from qops.pattern import lazy

STATE = lazy(r"\s*State:\s+([RSDTtZXIW])(?: \([\w ]{1,30}\))?\s*$")

_HEADER = lazy(r"== pid ([0-9]{1,10})\s*$")
_FIELD = lazy(r"\s*(Name|Pid|PPid|Threads|rchar|voluntary_ctxt_switches|nonvoluntary_ctxt_switches):\s+(\S.{0,80})$")
_WCHAN = lazy(r"wchan: ?(\S{0,80})\s*$")
_BARE_WCHAN = lazy(r"(?:0|[A-Za-z_][\w.]{2,60})\s*$")
# /proc/PID/stat: pid (comm) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime
_STAT = lazy(
    r"\s*([0-9]{1,10}) \((.{1,64})\) ([RSDTtZXIW]) ([0-9]{1,10})(?: -?[0-9]{1,20}){9} ([0-9]{1,15}) ([0-9]{1,15})\b"
)
_SHORT_STAT = lazy(r"([RSDTtZXIW]) ([0-9]{1,15}) ([0-9]{1,15})(?: [0-9]{1,15}){0,2}\s*$")
_CHILD = lazy(r"\s*([0-9]{1,10}) [RSDTtZXIW]\S{0,6}\s+[0-9.]{1,8} (\S.{0,80})$")
_TREE = lazy(r"process: ([0-9]{1,10}) ([0-9]{1,10}) ([A-Za-z]) ([0-9]{1,15}) (.{0,64})$")
_CMDLINE = lazy(r"cmdline ([0-9]{1,10}): ?(.*)$")
_MAPPED = lazy(r"/proc/([0-9]{1,10})/maps:(/.{1,400})$")
_NUMBER = lazy(r"[0-9]{1,18}$")


class _Block(Struct):
    quote: Quote
    pid: int | None = None
    headed: bool = False  # by "== pid N"
    command: str = ""
    name: str = ""
    state: str = ""
    parent: int | None = None
    wchan: str | None = None
    ticks: int | None = None
    read: int | None = None
    threads: int | None = None
    switches: int | None = None
    children: list[tuple[int, str]] = field(default_factory=list)


class _Tree(Struct):
    """The family tree that an answer gives once for all of its processes."""

    parent: dict[int, int] = field(default_factory=dict)
    ticks: dict[int, int] = field(default_factory=dict)
    name: dict[int, str] = field(default_factory=dict)

    def children(self) -> dict[int, list[int]]:
        """Return the direct children of each process."""
        found: dict[int, list[int]] = {}
        for pid, parent in self.parent.items():
            if pid != parent:
                found.setdefault(parent, []).append(pid)
        return found


class Details(Struct):
    """Command lines and mapped libraries, which are asked apart from the states."""

    command: dict[int, str] = field(default_factory=dict)
    libraries: dict[int, dict[str, None]] = field(default_factory=dict)


def details(texts: Iterable[Text]) -> Details:
    """Return the command lines and the libraries that `texts` give for each process."""
    found = Details()
    for text in texts:
        for line in text.lines:
            if line.startswith("cmdline ") and (match := _CMDLINE.match(line[:8000])):
                found.command[int(match[1])] = match[2].strip()[:4000]
            elif line.startswith("/proc/") and (match := _MAPPED.match(line[:1000])):
                found.libraries.setdefault(int(match[1]), {})[match[2].strip()] = None
    return found


def blocks(text: Text, known: Details | None = None) -> tuple[Process, ...]:
    """Return the processes that `text` describes in /proc's own words, with the details that are `known`."""
    found: list[_Block] = []
    tree = _Tree()
    open_block: _Block | None = None
    table = False
    for index, line in enumerate(text.lines):
        if len(line) > 8000 or (open_block is None and not _opens(line)):
            continue
        if header := _HEADER.match(line):
            open_block = _Block(text.quote(index), int(header[1]), headed=True, command=_command(text, index + 1))
            found.append(open_block)
            table = False
        elif line.startswith("=="):
            open_block = None
        elif _once(line, tree):
            continue
        elif (state := STATE.match(line)) and (open_block is None or open_block.state):
            # A new process without a heading: the line above is its command line, if it is one.
            open_block = _Block(text.quote(index), state=state[1], command=_command(text, index - 1))
            found.append(open_block)
        elif stat := _STAT.match(line):
            if open_block is None or open_block.pid not in (None, int(stat[1])):
                open_block = _Block(text.quote(index))
                found.append(open_block)
            _fill_from_stat(open_block, stat)
            if not open_block.headed:
                open_block = None
        elif name := _FIELD.match(line) if line.lstrip().startswith("Name:") else None:
            if open_block is None or open_block.state:
                open_block = _Block(text.quote(index))
                found.append(open_block)
            open_block.name = name[2].strip()
        elif open_block is not None:
            if open_block.headed and not open_block.state and STATE.match(line):
                open_block.quote = text.quote(index)  # says more than the heading
            ended = _fill(open_block, line, table)
            table = not ended and (table or ("PID" in line and "COMMAND" in line))
    return tuple(_processes(text, found, tree, known or Details()))


def _opens(line: str) -> bool:
    return line.startswith(("==", "process: ")) or any(s in line for s in ("State:", "Name:", ") "))


def _once(line: str, tree: _Tree) -> bool:
    if line.startswith("process: ") and (match := _TREE.match(line)):
        pid = int(match[2])
        tree.parent[pid], tree.ticks[pid], tree.name[pid] = int(match[1]), int(match[4]), match[5].strip()
        return True
    return False


def _command(text: Text, index: int) -> str:
    """Return the line at `index` when it can be a command line, else nothing."""
    line = text.lines[index].strip() if 0 <= index < len(text.lines) else ""
    if not line or _FIELD.match(line) or STATE.match(line) or line.startswith(("==", "Umask:", "$", "#", "wchan")):
        return ""
    return line[:4000] if re.match(r"[\w./@:\[-]", line) and not _SHORT_STAT.match(line) else ""


def _fill_from_stat(block: _Block, stat: re.Match[str]) -> None:
    block.pid, block.name = int(stat[1]), stat[2]
    block.state = block.state or stat[3]
    block.parent = int(stat[4])
    block.ticks = int(stat[5]) + int(stat[6])


def _fill(block: _Block, line: str, table: bool) -> bool:
    """Add what `line` says to `block`; return whether it ends a table of children."""
    if state := STATE.match(line):
        block.state = block.state or state[1]
    elif match := _FIELD.match(line):
        value = int(match[2]) if _NUMBER.match(match[2].strip()) else None
        if match[1] == "Pid":
            block.pid = block.pid if block.headed else value
        elif match[1] == "PPid":
            block.parent = value
        elif match[1] == "Threads":
            block.threads = value
        elif match[1] == "rchar":
            block.read = value
        elif match[1].endswith("voluntary_ctxt_switches") and value is not None:  # of both kinds
            block.switches = (block.switches or 0) + value
    elif short := _SHORT_STAT.match(line) if block.headed else None:
        block.ticks = int(short[2]) + int(short[3])
        block.state = block.state or short[1]
    elif table:
        child = _CHILD.match(line)
        if child:
            block.children.append((int(child[1]), child[2].strip()))
        return child is None
    elif match := _WCHAN.match(line) or (_BARE_WCHAN.match(line) if block.state and block.wchan is None else None):
        block.wchan = match[0].strip().removeprefix("wchan:").strip()
    return False


def _processes(text: Text, found: list[_Block], tree: _Tree, known: Details) -> Iterator[Process]:
    families = tree.children()
    names = {pid: name for block in found for pid, name in block.children} | tree.name
    for block in found:
        pid = block.pid
        if pid is None or not (block.state or block.ticks is not None or block.headed):
            continue
        direct = families.get(pid, [])
        yield Process(
            pid=pid,
            quote=block.quote,
            command=known.command.get(pid) or block.command,
            name=block.name or names.get(pid, ""),
            state=block.state,
            parent=block.parent if block.parent is not None else tree.parent.get(pid),
            wchan="" if block.wchan in (None, "0") else str(block.wchan),
            cpu_ticks=block.ticks if block.ticks is not None else tree.ticks.get(pid),
            children=tuple(block.children) or tuple((c, tree.name[c]) for c in direct),
            children_cpu_ticks=_descendants(pid, families, tree.ticks) if tree.parent else None,
            read_bytes=block.read,
            libraries=tuple(known.libraries.get(pid, ())),
            at=text.at,
            threads=block.threads,
            switches=block.switches,
        )


def _descendants(pid: int, families: dict[int, list[int]], ticks: dict[int, int]) -> int:
    total, waiting, seen = 0, list(families.get(pid, ())), {pid}
    while waiting:
        child = waiting.pop()
        if child not in seen:
            seen.add(child)
            total += ticks.get(child, 0)
            waiting += families.get(child, ())
    return total
