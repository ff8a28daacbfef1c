"""PyTorch's flight recorder: the last collectives of a rank, as a pickle or as JSON.

Keys: pytorch torch/csrc/distributed/c10d/FlightRecorder.hpp and torch/distributed/flight_recorder (dump versions
1 to 2.10). A dump is a file from elsewhere, so it is read as plain data only (`plain_pickle`).
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from qops.errors import ParseError
from qops.evidence.text import Quote, Text
from qops.evidence.torch import FlightEntry, FlightRecord, FlightRecords
from qops.pattern import lazy
from qops.probes import plain_pickle
from qops.probes.base import Probe

MOST_ENTRIES = 20_000  # of one dump; torch keeps 2,000 unless told otherwise
MOST_FRAMES = 40
MOST_RECORDS = 4096
MOST_JSON = 128 * 1024 * 1024  # characters

# torch writes PREFIX followed by the rank; the prefix is `/tmp/nccl_trace_rank_` unless somebody sets another.
_RANK_IN_NAME = lazy(r"(?:rank|[_-])(\d{1,6})(?:\.[a-z]{1,8})?$", re.ASCII)
_PICKLE = lazy(rb"\x80[\x00-\x05]")
_KEYS = ('"pg_config"', '"collective_seq_id"', '"nccl_comm_state"', '"pg_status"')


def parse(texts: Sequence[Text]) -> FlightRecords | None:
    """Return the dumps in `texts`.

    Raise `ParseError` when there is a dump and none can be read; a broken one beside good ones is passed over.
    """
    records: list[FlightRecord] = []
    errors: list[ParseError] = []
    for text in texts[:MOST_RECORDS]:
        try:
            records += _pickled(text) if text.data else _documents(text)
        except ParseError as error:
            errors.append(error)
    if not records and errors:
        raise errors[0]
    return FlightRecords(tuple(records[:MOST_RECORDS])) if records else None


def _pickled(text: Text) -> list[FlightRecord]:
    if not _PICKLE.match(text.data):
        return []
    try:
        value = plain_pickle.load(text.data)
    except plain_pickle.NotPlainError as error:
        raise ParseError(text.source, 0, f"not a flight recorder dump that is safe to read: {error}") from None
    if not _is_dump(value):
        raise ParseError(text.source, 0, "a pickle, and not a flight recorder dump")
    return [_record(value, text.source, Quote(text.source, 0, ""))]


def _documents(text: Text) -> Iterator[FlightRecord]:
    """Yield the JSON dumps: one for the whole text, or one a line."""
    if not recognise(text):
        return
    whole = "\n".join(text.lines)
    if len(whole) > MOST_JSON:
        raise ParseError(text.source, 0, "the dump is too large")
    found = False
    decoder = json.JSONDecoder()
    starts = [i for i, line in enumerate(text.lines) if line.lstrip().startswith("{")][:1]
    starts += [i for i, line in enumerate(text.lines[1:], 1) if line.startswith('{"') and i not in starts][:64]
    offsets = {i: sum(len(line) + 1 for line in text.lines[:i]) for i in starts}
    end = -1
    for index in starts:
        if offsets[index] < end:
            continue
        try:
            value, end = decoder.raw_decode(whole, whole.index("{", offsets[index]))
        except (ValueError, RecursionError):
            continue
        if _is_dump(value):
            found = True
            yield _record(value, text.source, text.quote(index))
    if not found:
        raise ParseError(text.source, 1, "looks like a flight recorder dump in JSON, and is damaged")


def _is_dump(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("entries"), list)


def _record(dump: dict[Any, Any], source: str, quote: Quote) -> FlightRecord:
    entries = tuple(_entry(e) for e in dump["entries"][-MOST_ENTRIES:] if isinstance(e, dict))
    rank = _int(dump.get("rank"))
    if rank is None and (named := _RANK_IN_NAME.search(source)):
        rank = int(named[1])
    version = _text(dump.get("version"))
    if not quote.text.strip() or len(quote.text) > 200:
        quote = Quote(quote.source, quote.line, f"flight recorder dump {version} with {len(entries)} collectives")
    return FlightRecord(rank=rank, quote=quote, entries=entries, version=version)


def _entry(value: dict[Any, Any]) -> FlightEntry:
    sequence = _int(value.get("collective_seq_id"))
    if value.get("is_p2p") is True:
        sequence = _int(value.get("p2p_seq_id"))
    if sequence is None:
        sequence = _int(value.get("seq_id"))  # dump versions before 2.0
    return FlightEntry(
        sequence=-1 if sequence is None else sequence,
        op=_text(value.get("profiling_name")).removeprefix("nccl:"),
        state=_text(value.get("state")),
        sizes=tuple(tuple(_ints(size)) for size in _items(value.get("input_sizes"), 64)),
        dtypes=tuple(_text(name) for name in _items(value.get("input_dtypes"), 64)),
        group=_group(value.get("process_group")),
        frames=tuple(_frames(value.get("frames"))),
    )


def _group(value: object) -> str:
    """Name a process group as torch's log does: `0(default_pg)`."""
    if isinstance(value, str):
        return value[:100]
    names = [_text(name) for name in _items(value, 2)]
    if not names:
        return ""
    return f"{names[0]}({names[1]})" if len(names) == 2 and names[1] not in ("", "undefined") else names[0]


def _frames(value: object) -> Iterator[str]:
    for frame in _items(value, MOST_FRAMES):
        if isinstance(frame, dict):
            yield f"{_text(frame.get('filename'))}:{_int(frame.get('line')) or 0} {_text(frame.get('name'))}"


def _items(value: object, most: int) -> Sequence[Any]:
    return value[:most] if isinstance(value, list | tuple) else ()


def _ints(value: object) -> Iterator[int]:
    for item in _items(value, 16):
        number = _int(item)
        if number is not None:
            yield number


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _text(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""


def recognise(text: Text) -> bool:
    """Tell whether `text` is a pickle, or holds a dump in JSON."""
    if text.data:
        return _PICKLE.match(text.data) is not None
    seen = [any(key in line for line in text.lines) for key in ('"entries"', *_KEYS)]
    return seen[0] and any(seen[1:])


PROBE = Probe(
    name="flight-recorder",
    makes=FlightRecords,
    parse=parse,
    recognise=recognise,
    families=("nccl", "serve"),
)
