"""PyTorch's watchdog and elastic launcher: which collective timed out, how far each rank came, who exited.

Wording: pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp of 1.13 to 2.13 and
torch/distributed/elastic/multiprocessing/{api,errors/__init__}.py.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field, structs

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
_AT_WORK = lazy(r"(?:at (?:NCCL )?work|at work sequence id): (?P<sequence>\d{1,15})", re.ASCII | re.IGNORECASE)
_RANK = lazy(r"(?:\[|\s)Rank (?P<rank>\d{1,7})\]", re.ASCII)
_TAG = lazy(r"\[rank(?P<rank>\d{1,7})\]:", re.ASCII)  # torch's prefix since 2.3
_GROUP = lazy(r"\[PG (?:ID \S{1,20} PG GUID )?(?P<group>[^\]]{1,80}?) Rank (?P<own>\d{1,7})", re.ASCII)

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
    tagged: set[tuple[int, int | None, str]] = field(default_factory=set)  # timeouts of which the job's rank is known
    at_work: dict[tuple[int, int], str] = field(default_factory=dict)  # the group, by rank and sequence
    members: dict[tuple[str, int], set[int]] = field(default_factory=dict)  # the jobs' ranks, by group and its rank
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
    # What ends the process is the same timeout once more, with the group's own rank alone.
    known = {key[1:] for key in state.tagged}
    said = [t for key, t in state.timeouts.items() if key in state.tagged or key[1:] not in known]
    shared = {name for (name, _), ranks in state.members.items() if len(ranks) > 1}
    timeouts = tuple(
        structs.replace(t, group=_own(t.group or state.at_work.get((t.rank, t.sequence or 0), ""), t.rank, shared))
        for t in said
    )
    work = tuple(structs.replace(w, group=_own(w.group, w.rank, shared)) for w in state.work.values())
    return TorchLog(timeouts, work, tuple(state.exits.values()))


def _own(group: str, rank: int, shared: set[str]) -> str:
    """Return a group's name, or one of the rank's own where two groups carry the name: processes number them alone."""
    return f"{group} on rank {rank}" if group in shared else group


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
    """Return the rank that a line's prefix names, the nearest before column `before`.

    `[rank1]:` is the job's rank; `[Rank 0]` and `[PG 5 Rank 0]` are the group's own (pytorch/pytorch 134006).
    """
    named = _tag_in(line, before) or [*_RANK.finditer(line, max(0, before - 400), before)][-1:]
    return int(named[0]["rank"]) if named else None


def _tag_in(line: str, before: int) -> list[re.Match[str]]:
    return [*_TAG.finditer(line, max(0, before - 400), before)][-1:]


def _group_in(line: str, before: int, rank: int, state: _State) -> str:
    """Return the process group that a line's prefix names, and note which rank of it speaks."""
    found = [*_GROUP.finditer(line, max(0, before - 400), before)][-1:]
    if not found:
        return ""
    if _tag_in(line, before):
        state.members.setdefault((found[0]["group"], int(found[0]["own"])), set()).add(rank)
    return found[0]["group"]


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
        group=_group_in(line, timeout.start(), rank, state),
    )
    state.timeouts.setdefault((rank, sequence, op), found)
    if _tag_in(line, timeout.start()):
        state.tagged.add((rank, sequence, op))


def _work(line: str, work: re.Match[str], quote: Quote, state: _State) -> None:
    rank = _rank_in(line, work.start())
    if rank is None or len(state.work) >= KEPT:
        return
    name = _group_in(line, work.start(), rank, state)
    if name and (at := [*_AT_WORK.finditer(line, max(0, work.start() - 400), work.start())][-1:]):
        state.at_work.setdefault((rank, int(at[0]["sequence"])), name)
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
