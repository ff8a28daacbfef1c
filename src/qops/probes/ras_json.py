"""The JSON answer of NCCL's RAS (since 2.28.7): every rank with all its counts, also where nothing is wrong.

Keys and the way in which status and problem follow from them: NVIDIA/nccl src/ras/client_support.cc.
"""

import calendar
import json
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from qops.evidence.nccl import RasAnswer, RasCommunicator, RasRank
from qops.evidence.text import Quote, Text
from qops.pattern import lazy

MARK = '"nccl_version"'
MOST_BYTES = 32 * 1024 * 1024  # of one document
MOST_FAILURES = 8  # broken documents in one text before the rest is left unread

# ncclResult_t values that are no error: ncclSuccess and ncclInProgress (nccl.h)
_FINE = (0, 7)
_ERRORS = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
}
# 2.28.9 leaves a comma out in each rank that it misses (read off two real answers); the lines stay where they are.
_NO_COMMA = lazy(r'("nvml_dev": \d{1,9})(?=\n\s{0,40}"status")', re.ASCII)
_ORDER = ("ABORT", "FINALIZE", "RUNNING", "INIT", "NOCOMM")  # RAS shows the first that any rank has


def documents(text: Text, start: int, end: int) -> Iterator[tuple[int, int, RasAnswer]]:
    """Yield (first line, line after the last, answer) for each JSON answer in lines `start` to `end` (from 0)."""
    index, failures = start, 0
    while index < end and failures < MOST_FAILURES:
        if MARK not in text.lines[index]:
            index += 1
            continue
        first = index if text.lines[index].lstrip().startswith("{") else index - 1
        found = _decode(text.lines[max(first, start) : end])
        if found is None:
            failures += 1
            index += 1
            continue
        document, length = found
        yield first, first + length, _answer(document, text, first, first + length)
        index = first + length


def _decode(lines: Sequence[str]) -> tuple[dict[str, Any], int] | None:
    body, size = [], 0
    for line in lines:
        size += len(line)
        if size > MOST_BYTES or line.startswith("=== "):
            break
        body.append(line)
    whole = _NO_COMMA.sub(r"\1,", "\n".join(body))
    begin = whole.find("{")
    try:
        value, stop = json.JSONDecoder().raw_decode(whole, begin)
    except (ValueError, RecursionError):
        return None
    if begin < 0 or not isinstance(value, dict) or not isinstance(value.get("communicators"), list):
        return None
    return value, whole.count("\n", 0, stop) + 1


def _answer(document: dict[str, Any], text: Text, first: int, end: int) -> RasAnswer:
    # One key stands on each line, so the n-th "hash" and "rank" in the text belong to the n-th in the document.
    communicators = [c for c in document["communicators"] if isinstance(c, dict)]
    wanted = sum(len(_list(c, "ranks")) + len(_list(c, "missing_ranks")) for c in communicators)
    whole = text.quote(first)
    hashes = iter([text.quote(i) for i in range(first, end) if text.lines[i].lstrip().startswith('"hash"')])
    at_ranks = [i for i in range(first, end) if text.lines[i].lstrip().startswith('"rank"')]
    ranks = iter([text.quote(i) for i in at_ranks] if len(at_ranks) == wanted else [])
    return RasAnswer(
        answered=True,
        quote=whole,
        at=_seconds(document.get("timestamp")),
        version=_text(document.get("nccl_version")),
        communicators=tuple(_communicator(c, next(hashes, whole), ranks, whole) for c in communicators),
    )


def _communicator(value: dict[str, Any], quote: Quote, quotes: Iterator[Quote], whole: Quote) -> RasCommunicator:
    present = [_rank(r, next(quotes, whole)) for r in _list(value, "ranks")]
    absent = [_missing(r, next(quotes, whole)) for r in _list(value, "missing_ranks")]
    statuses = {r.status for r in (*present, *absent) if r.status}
    problems = []
    if any(r.missing and r.status != "NOCOMM" for r in absent):
        problems.append("INCOMPLETE")
    if any(r.error for r in present):
        problems.append("ERROR")
    if len(statuses) > 1 or len({r.operations for r in present}) > 1 or any(r.status == "NOCOMM" for r in absent):
        problems.append("MISMATCH")
    name = _text(value.get("hash")).removeprefix("0x")
    return RasCommunicator(
        id=name.zfill(16) if name else "",
        size=_int(value.get("size")),
        status=next((s for s in _ORDER if s in statuses), ""),
        problem=",".join(problems),
        ranks=tuple(sorted((*present, *absent), key=lambda r: r.rank)),
        quote=quote,
    )


def _rank(value: dict[str, Any], quote: Quote) -> RasRank:
    state = value.get("status")
    state = state if isinstance(state, dict) else {}
    counts = value.get("collective_counts")
    init, later = _int(state.get("init_state")), _int(state.get("async_error"))
    if state.get("abort_flag") is True:
        status = "ABORT"
    elif state.get("finalize_called") is True or state.get("destroy_flag") is True:
        status = "FINALIZE"
    else:
        status = "" if init is None else "RUNNING" if init == 0 else "INIT"
    wrong = next((e for e in (init, later) if e is not None and e not in _FINE), None)
    return RasRank(
        rank=_number(value),
        quote=quote,
        pid=_positive(value.get("pid")),
        gpu=_positive(value.get("cuda_dev")),
        host=_text(value.get("host")),
        status=status,
        operations=tuple(
            (name[:40], number)
            for name, number in (list(counts.items())[:32] if isinstance(counts, dict) else [])
            if _int(number) is not None
        ),
        error="" if wrong is None else _ERRORS.get(wrong, "Unexpected error"),
    )


def _missing(value: dict[str, Any], quote: Quote) -> RasRank:
    state = value.get("status")
    state = state if isinstance(state, dict) else {}
    dead, silent = state.get("considered_dead") is True, state.get("unresponsive") is True
    return RasRank(
        rank=_number(value),
        quote=quote,
        pid=_positive(value.get("pid")),
        gpu=_positive(value.get("cuda_dev")),
        host=_text(value.get("host")),
        status="" if dead or silent else "NOCOMM",
        missing=True,
        considered_dead=dead,
        unresponsive=silent and not dead,
    )


def _list(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = value.get(key)
    return (
        [v for v in found if isinstance(v, dict) and _int(v.get("rank")) is not None] if isinstance(found, list) else []
    )


def _number(value: dict[str, Any]) -> int:
    return int(value["rank"])


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _positive(value: object) -> int | None:
    number = _int(value)
    return number if number is not None and number >= 0 else None


def _text(value: object) -> str:
    return value[:100] if isinstance(value, str) else ""


def _seconds(value: object) -> float | None:
    try:
        return float(calendar.timegm(time.strptime(_text(value), "%Y-%m-%d %H:%M:%S")))
    except (ValueError, OverflowError):
        return None
