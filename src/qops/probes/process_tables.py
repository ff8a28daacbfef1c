"""Tables of processes, as ps and top print them."""

import re

from qops.evidence.process import Process
from qops.evidence.text import Text
from qops.pattern import lazy

_COMMAND = ("COMMAND", "CMD", "COMM")
_STATE = ("STAT", "S")
_WIDE = 30  # a table with more rows is the whole machine's: then only rows that may concern GPUs are kept
_GPU_WORK = lazy(
    r"python|torch|vllm|sglang|sgl_|ray::|raylet|nvidia|nccl|cuda|mpirun|orted|llama|trtllm|triton|ollama|nvcc|ptxas"
    r"|cicc|ninja|cc1plus|EngineCore|(?<!k)worker|pt_|_perf\b|modprobe|fabricmanager",
    re.IGNORECASE,
)
_STATES = lazy(r"[RSDTtZXIW][A-Za-z<+]{0,6}$")
_PID = lazy(r"[0-9]{1,10}$")


def is_header(line: str) -> bool:
    """Return whether `line` heads a table of ps or top that names processes."""
    if "PID" not in line or len(line) > 500:
        return False
    names = [name.upper() for name in line.split()]
    return "PID" in names and names[-1] in _COMMAND and 2 <= len(names) <= 20


def processes(text: Text) -> tuple[Process, ...]:
    """Return the rows of every such table in `text`, without those of ps and grep themselves."""
    found: list[Process] = []
    index = 0
    while index < len(text.lines):
        if not is_header(text.lines[index]):
            index += 1
            continue
        names = [name.upper() for name in text.lines[index].split()]
        rows: list[Process] = []
        index += 1
        while index < len(text.lines):
            row = _row(text, index, names)
            if row is None:
                break
            rows.append(row)
            index += 1
        shown = [r for r in rows if not re.match(r"(?:\S*/)?(?:ps|grep|egrep|awk)\b", r.command)]
        found += (r for r in shown if len(rows) <= _WIDE or _GPU_WORK.search(r.command))
    return tuple(found)


def _row(text: Text, index: int, names: list[str]) -> Process | None:
    cells = text.lines[index][:4000].split(None, len(names) - 1)
    if len(cells) < len(names):
        return None
    values = dict(zip(names, cells, strict=False))
    if not _PID.match(values["PID"]):
        return None
    state = next((values[n] for n in _STATE if n in values and _STATES.match(values[n])), "")
    parent = values.get("PPID", "")
    wchan = values.get("WCHAN", "")
    command = cells[-1].strip()
    return Process(
        pid=int(values["PID"]),
        quote=text.quote(index),
        command=command,
        name="" if " " in command or "/" in command else command,
        state=state[:1],
        parent=int(parent) if _PID.match(parent) else None,
        wchan="" if wchan in ("-", "0") else wchan,
        at=text.at,
    )
