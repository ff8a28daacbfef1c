"""NCCL's RAS witness: each communicator's ranks, how far each came, and which do not answer."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from qops.evidence.nccl import Ras, RasAnswer, RasCommunicator
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.ras_client import SCRIPT
from qops.probes.ras_json import MARK, documents
from qops.probes.ras_text import COMMUNICATOR, Reader

MOST_ANSWERS = 500

_HEADER = lazy(r"=== RAS\b", re.ASCII)
_TIME = lazy(r"\b\d{9,11}(?:\.\d{1,9})?\b", re.ASCII)
_VERSION = lazy(r"NCCL version (\d{1,3}\.\d{1,3}\.\d{1,3})\S* compiled with CUDA", re.ASCII)
# What our own client prints, and what a Python client prints that ends on its time limit. A refused connection is
# no silence: nobody listens there.
_SILENT = lazy(r"^\s*(?:no answer: |TimeoutError\b|(?:socket\.)?timed? ?out\b)", re.ASCII)
_OPENS = ("SERVER PROTOCOL", "Communicators...", "ommunicator ranks have different", "Group     Comms")
_MARKS = ("=== RAS", MARK, "compiled with CUDA", "launched up to operation", "not launched any op", *_OPENS)


def parse(texts: Sequence[Text]) -> Ras | None:
    """Return every answer in `texts`, in order of time. Pure and total."""
    answers: list[RasAnswer] = []
    for text in texts:
        found = [a for start, end in _blocks(text)[:MOST_ANSWERS] for a in _block(text, start, end)]
        if len(answers) < MOST_ANSWERS:
            answers += _together(found) if text.probe == PROBE.name else found
    if not answers:
        return None
    if all(a.at is not None for a in answers):
        answers.sort(key=lambda a: a.at or 0.0)
    return Ras(tuple(answers[:MOST_ANSWERS]))


def _together(found: Sequence[RasAnswer]) -> list[RasAnswer]:
    """Make one answer of what several jobs answered to one question; silent ones stay apart."""
    answered = [a for a in found if a.answered]
    silent = [a for a in found if not a.answered]
    if len(answered) < 2:
        return [*answered, *silent]
    communicators = tuple(c for a in answered for c in a.communicators)
    return [replace(answered[0], communicators=communicators), *silent]


def _blocks(text: Text) -> list[tuple[int, int]]:
    """Return the stretches of lines (from 0, end excluded) that may hold answers: each begins with its header."""
    heads = [i for i, line in enumerate(text.lines) if "=== " in line and _HEADER.search(line)]
    starts = heads if heads and heads[0] == 0 else [0, *heads]
    return list(zip(starts, [*starts[1:], len(text.lines)], strict=True))


def _block(text: Text, start: int, end: int) -> list[RasAnswer]:
    head = text.lines[start] if start < end and _HEADER.search(text.lines[start]) else ""
    said = _TIME.search(head)
    at = text.at if text.at is not None else float(said[0]) if said else None
    structured = list(documents(text, start, end))
    skip = {i for first, after, _ in structured for i in range(first, after)}
    plain = _plain(text, [i for i in range(start, end) if i not in skip], at, bool(head))
    documented = [a if at is None else replace(a, at=at) for _, _, a in structured]
    if head and len(documented) == 1 and len(plain) == 1:  # our client asks the same process for both forms
        return [_merge(plain[0], documented[0])]
    return [*plain, *documented]


def _plain(text: Text, indexes: Sequence[int], at: float | None, headed: bool) -> list[RasAnswer]:
    answers: list[RasAnswer] = []
    reader: Reader | None = None
    for index in indexes:
        line = text.lines[index]
        version = _VERSION.search(line)
        if (version or "SERVER PROTOCOL" in line) and reader is not None and reader.begun:
            answers.append(reader.answer(at))
            reader = None
        if reader is None and (version or any(mark in line for mark in _OPENS) or COMMUNICATOR.search(line)):
            reader = Reader(text.quote(index))
        if reader is not None:
            reader.version = version[1] if version else reader.version
            reader.take(line, text.quote(index))
        elif headed and not answers and _SILENT.search(line):
            answers.append(RasAnswer(False, text.quote(index), at))
    if reader is not None and (reader.begun or headed):
        answers.append(reader.answer(at))
    return answers


def _merge(plain: RasAnswer, full: RasAnswer) -> RasAnswer:
    """Take what the JSON form says of every rank, with the quotes of the text form where it names the rank."""
    quotes = {(c.id, r.rank): r.quote for c in plain.communicators for r in c.ranks}
    heads = {c.id: c for c in plain.communicators}

    def one(c: RasCommunicator) -> RasCommunicator:
        ranks = tuple(replace(r, quote=quotes.get((c.id, r.rank), r.quote)) for r in c.ranks)
        said = heads.get(c.id)
        return replace(
            c, ranks=ranks, quote=said.quote if said else c.quote, problem=said.problem if said else c.problem
        )

    return replace(
        plain,
        answered=True,
        version=plain.version or full.version,
        communicators=tuple(one(c) for c in full.communicators),
    )


def recognise(text: Text) -> bool:
    """Tell whether `text` holds a RAS answer, or the header under which one was asked for."""
    return any(mark in line for line in text.lines for mark in _MARKS) or any(map(_is_heading, text.lines))


def _is_heading(line: str) -> bool:
    return "#" in line and COMMUNICATOR.search(line) is not None


PROBE = Probe(
    name="ras",
    makes=Ras,
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("sh", "-c", SCRIPT),
            why="asks NCCL's RAS thread how far each rank came; three times, since only a standstill is a hang",
            timeout=9.5,
            root=True,
            samples=(0.0, 5.0, 10.0),
            live_only=True,
            name="NCCL RAS",
        ),
    ),
    families=("nccl", "serve"),
    literals=(
        "=== ras",
        "server protocol",
        " compiled with cuda",
        "communicators...",
        "group     comms",
        "  running  ",
        "ommunicator ranks have different",
        " managed by process ",
        "launched up to operation",
        "not launched any operations",
        "ranks have status",
        ") mismatch",
        ") incomplete",
        ") error",
    ),
)
