"""PyTorch's watchdog and elastic launcher: which collective timed out, how far each rank came, who exited.

Wording: pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp of 1.13 to 2.13 and
torch/distributed/elastic/multiprocessing/{api,errors/__init__}.py.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field

from qops.evidence.text import Quote, Text
from qops.evidence.torch import TorchLog, WatchdogTimeout, WorkerExit, WorkState
from qops.pattern import lazy
from qops.probes.base import Probe

KEPT = 5000  # of each kind

_WATCHDOG = lazy(
    r"Watchdog caught collective operation timeout: WorkNCCL\("
    r"(?P<fields>[^()]{0,300}(?:\([^()]{0,40}\)[^()]{0,100}){0,8})\)(?: ran for (?P<ran>\d{1,12}) milliseconds)?",
    re.ASCII,
)
_FIELD = lazy(r"(?P<name>[A-Za-z()]{2,20})=(?P<value>\[[^\]]{0,80}\]|[^,()\s]{1,40})", re.ASCII)
_WORK = lazy(
    r"last enqueued (?:NCCL )?work: (?P<enqueued>-?\d{1,15}),(?: last started (?:NCCL )?work: -?\d{1,15},)?"
    r" last completed (?:NCCL )?work: (?P<completed>-?\d{1,15})",
    re.ASCII | re.IGNORECASE,
)
_RANK = lazy(r"(?:\[|\s)Rank (?P<rank>\d{1,7})\]", re.ASCII)
_TAG = lazy(r"\[rank(?P<rank>\d{1,7})\]:", re.ASCII)  # torch's prefix since 2.3
_GROUP = lazy(r"\[PG (?:ID \S{1,20} PG GUID )?(?P<group>[^\]]{1,80}?) Rank \d", re.ASCII)

_TABLE_RANK = lazy(r"\brank\s{1,12}: (?P<rank>\d{1,7}) \(local_rank: (?P<local>\d{1,5})\)", re.ASCII)
_TABLE_EXIT = lazy(r"\bexitcode\s{1,12}: (?P<code>-?\d{1,5}) \(pid: (?P<pid>\d{1,10})\)", re.ASCII)
_FAILED = lazy(
    r"\bfailed \(exitcode: (?P<code>-?\d{1,5})\) local_rank: (?P<local>\d{1,5}) \(pid: (?P<pid>\d{1,10})\)", re.ASCII
)
_ROOT = "Root Cause (first observed failure)"
_OTHERS = lazy(r"^\s*(?:\S{1,80}:? ?\|? )?(?:Failures:|={20,})\s*$", re.ASCII)

_WORDS = ("Watchdog caught collective", "enqueued work: ", "enqueued NCCL work: ", "local_rank: ")


class _State(Struct):
    timeouts: dict[tuple[int, int | None, str], WatchdogTimeout] = field(default_factory=dict)
    work: dict[tuple[int, str, int, int], WorkState] = field(default_factory=dict)
    exits: dict[tuple[int, int], WorkerExit] = field(default_factory=dict)  # by pid and code
    local: dict[tuple[int, int], WorkerExit] = field(default_factory=dict)


def parse(texts: Sequence[Text]) -> TorchLog | None:
    """Return what the watchdog and the launcher say in `texts`, or None. Pure and total."""
    state = _State()
    for text in texts:
        _text(text, state)
    # The launcher's one-line report has only the local rank; its table, where there is one, says the rest.
    for key, found in state.local.items():
        state.exits.setdefault(key, found)
    if not (state.timeouts or state.work or state.exits):
        return None
    return TorchLog(tuple(state.timeouts.values()), tuple(state.work.values()), tuple(state.exits.values()))


def _text(text: Text, state: _State) -> None:
    root, rank = False, None
    for index, line in enumerate(text.lines):
        if "Watchdog caught" in line and (timeout := _WATCHDOG.search(line)):
            _timeout(line, timeout, text.quote(index), state)
        if "enqueued" in line:
            for work in _WORK.finditer(line):
                _work(line, work, text.quote(index), state)
        if _ROOT in line:
            root, rank = True, None
        elif _OTHERS.match(line):
            root, rank = False, None
        elif found := _TABLE_RANK.search(line):
            rank = int(found["rank"])
        elif found := _FAILED.search(line):
            key = (int(found["pid"]), int(found["code"]))
            if len(state.local) < KEPT:
                state.local.setdefault(key, WorkerExit(int(found["local"]), key[1], text.quote(index), key[0]))
        elif rank is not None and (found := _TABLE_EXIT.search(line)):
            key = (int(found["pid"]), int(found["code"]))
            known = state.exits.get(key)
            if (known is None and len(state.exits) < KEPT) or (known is not None and root and not known.root):
                state.exits[key] = WorkerExit(rank, key[1], text.quote(index), key[0], root)
            rank = None


def _rank_in(line: str, before: int) -> int | None:
    """Return the rank that a line's prefix names, the nearest before column `before`."""
    named = [*_RANK.finditer(line, max(0, before - 400), before)][-1:] or [
        *_TAG.finditer(line, max(0, before - 400), before)
    ][-1:]
    return int(named[0]["rank"]) if named else None


def _timeout(line: str, timeout: re.Match[str], quote: Quote, state: _State) -> None:
    rank = _rank_in(line, timeout.start())
    if rank is None or len(state.timeouts) >= KEPT:
        return
    fields = {f["name"]: f["value"] for f in _FIELD.finditer(timeout["fields"])}
    sequence, op = _number(fields.get("SeqNum")), fields.get("OpType", "")
    found = WatchdogTimeout(
        rank=rank,
        quote=quote,
        sequence=sequence,
        op=op,
        elements_in=_number(fields.get("NumelIn")),
        elements_out=_number(fields.get("NumelOut")),
        timeout_ms=_number(fields.get("Timeout(ms)")),
        ran_ms=_number(timeout["ran"]),
    )
    state.timeouts.setdefault((rank, sequence, op), found)


def _work(line: str, work: re.Match[str], quote: Quote, state: _State) -> None:
    rank = _rank_in(line, work.start())
    if rank is None or len(state.work) >= KEPT:
        return
    group = [*_GROUP.finditer(line, max(0, work.start() - 400), work.start())][-1:]
    name = group[0]["group"] if group else ""
    key = (rank, name, int(work["enqueued"]), int(work["completed"]))
    state.work.setdefault(key, WorkState(rank, key[2], key[3], quote, name))


def _number(value: str | None) -> int | None:
    # A coalesced work has no size; torch prints -1 as an unsigned number of 20 digits.
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 19 else None


def recognise(text: Text) -> bool:
    """Tell whether `text` holds a line of torch's watchdog or launcher."""
    return any(word in line for line in text.lines for word in _WORDS)


PROBE = Probe(
    name="torch-log",
    makes=TorchLog,
    parse=parse,
    recognise=recognise,
    families=("nccl", "serve"),
    literals=(
        "watchdog caught collective",
        "enqueued work: ",
        "enqueued nccl work: ",
        "local_rank: ",
        "exitcode",
        "root cause (first observed",
        "failures:",
        "====================",
    ),
)
