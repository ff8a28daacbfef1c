import builtins
import json
import os
import pickle
import random
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import text

from qops.errors import ParseError
from qops.evidence.text import Text
from qops.evidence.torch import FlightRecord
from qops.probes import flight_recorder, plain_pickle

RECORDED = Path(__file__).parent.parent / "hosts/h200x2/cases/hang_watchdog/flight_recorder_rank0.pkl"


def dump(**changes: Any) -> dict[str, Any]:
    frames = [{"name": "forward", "filename": "/srv/model.py", "line": 12}]
    entry = {
        "frames": frames,
        "record_id": 5,
        "pg_id": 1,
        "process_group": ("2", "tensor_parallel"),
        "collective_seq_id": 44,
        "p2p_seq_id": 0,
        "op_id": 44,
        "profiling_name": "nccl:all_gather",
        "input_sizes": [[8, 128], [3]],
        "input_dtypes": ["BFloat16", "Int"],
        "state": "started",
        "is_p2p": False,
    }
    return {"version": "2.9", "pg_config": {}, "pg_status": {}, "entries": [entry | changes]}


def binary(data: bytes, name: str = "nccl_trace_rank_3") -> Text:
    return Text(name, (), data=data)


def read(*texts: Text) -> tuple[FlightRecord, ...]:
    found = flight_recorder.parse(texts)
    return found.records if found else ()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickled_dump(protocol: int) -> None:
    dumped = binary(pickle.dumps(dump(), protocol))
    assert flight_recorder.recognise(dumped)
    (record,) = read(dumped)
    assert (record.rank, record.version) == (3, "2.9")
    assert record.quote.text == "flight recorder dump 2.9 with 1 collectives"
    (entry,) = record.entries
    assert (entry.sequence, entry.op, entry.state, entry.group) == (44, "all_gather", "started", "2(tensor_parallel)")
    assert (entry.sizes, entry.dtypes) == (((8, 128), (3,)), ("BFloat16", "Int"))
    assert entry.frames == ("/srv/model.py:12 forward",)


def test_a_json_dump() -> None:
    for content in (json.dumps(dump()), "notes\n" + json.dumps(dump()) + "\nmore", json.dumps(dump(), indent=1)):
        loose = text(content, "fr_11.json")
        assert flight_recorder.recognise(loose)
        (record,) = read(loose)
        assert (record.rank, record.entries[0].op, record.entries[0].sequence) == (11, "all_gather", 44)


def test_other_versions() -> None:
    old = dump(seq_id=7, process_group="default", profiling_name="nccl:broadcast")
    del old["entries"][0]["collective_seq_id"]
    (record,) = read(binary(pickle.dumps(old), "dump"))
    assert (record.rank, record.entries[0].sequence, record.entries[0].group) == (None, 7, "default")
    (record,) = read(binary(pickle.dumps(dump(is_p2p=True, p2p_seq_id=9))))
    assert record.entries[0].sequence == 9


def test_the_recorded_dump() -> None:
    (record,) = read(binary(RECORDED.read_bytes(), str(RECORDED)))
    assert record.rank == 0
    assert [(e.sequence, e.op, e.state, e.group) for e in record.entries] == [
        (1, "all_reduce", "completed", "0(default_pg)"),
        (2, "all_reduce", "scheduled", "0(default_pg)"),
    ]
    assert record.entries[1].frames[-1] == "/opt/job/cases.py:44 <module>"


class Calls:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.what = (function, arguments)

    def __reduce__(self) -> Any:
        return self.what


def hostile(mark: Path) -> dict[str, bytes]:
    proto = b"\x80\x04"
    return {
        "runs a command": pickle.dumps(dump(state=Calls(os.system, f"touch {mark}"))),
        "evaluates": pickle.dumps(Calls(eval, f"open({str(mark)!r}, 'w')")),
        "imports by name": proto + b"cposix\nsystem\n(X\x04\x00\x00\x00trueq\x00tR.",
        "imports from the stack": proto + b"\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.",
        "looks an object up": proto + b"\x8c\x01aQ.",
        "an extension": proto + b"\x82\x01.",
        "text of protocol 0": b"\x80\x02S'\\q'\n.",
        "sets attributes": proto + b"}}b.",
        "an instance": b"(iposix\nsystem\np0\n.",
        "claims four gigabytes": proto + b"X\xff\xff\xff\xffabc.",
        "claims exabytes": proto + b"\x8d" + b"\xff" * 7 + b"\x0fabc.",
        "claims a huge byte array": b"\x80\x05\x96" + b"\xff" * 7 + b"\x0f.",
        "a memo number of four billion": proto + b"]r\xff\xff\xff\xff0" * 3 + b".",
        "an unhashable key": proto + b"}]Ns.",
        "a nested key": proto + b"})" + b"\x85" * 40_000 + b"Ns.",
        "deep nesting": proto + b"]" * 40_000 + b"a" * 39_999 + b".",
        "marks": proto + b"(" * 40_000 + b".",
        "empty stack": proto + b"0a.",
        "no end": proto + b"}" * 1000,
        "nothing": proto,
        "doubles itself": proto + b"]q\x00" + b"h\x00h\x00h\x00\x87q\x00" * 5000 + b".",
        "a list in itself": proto + b"}X\x07\x00\x00\x00entries]q\x00h\x00as.",
        "a huge integer": proto + b"\x8b\x00\x00\x10\x00" + b"\x7f" * 0x100000 + b".",
        "not a dump": pickle.dumps([1, 2, 3]),
        "not a dictionary": pickle.dumps("entries"),
    }


def test_hostile_pickles_are_refused_and_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "ran"
    payloads = hostile(mark)

    def never(*_: object) -> None:
        raise AssertionError("something was run")

    monkeypatch.setattr(os, "system", never)
    monkeypatch.setattr(builtins, "eval", never)
    for name, payload in payloads.items():
        begun = time.process_time()
        tracemalloc.start()
        try:
            records = read(binary(payload))
        except ParseError as error:
            assert error.source == "nccl_trace_rank_3"
            assert len(error.reason) < 200, name
        else:
            assert name in ("a list in itself", "an instance"), name
            assert all(not r.entries for r in records)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 200 * len(payload) + 4_000_000, f"{name}: {peak} bytes for {len(payload)}"
        assert time.process_time() - begun < 10, name
    assert not mark.exists()


def test_the_refusal_names_the_instruction() -> None:
    with pytest.raises(ParseError, match=r"byte \d+ is the instruction STACK_GLOBAL, which no plain value needs"):
        read(binary(pickle.dumps(dump(state=Calls(os.system, "true")), 4)))


def test_one_broken_dump_does_not_hide_the_others() -> None:
    (record,) = read(binary(b"\x80\x02]"), binary(pickle.dumps(dump()), "trace_5"))
    assert record.rank == 5


def test_damaged_json() -> None:
    whole = json.dumps(dump(), indent=1)
    with pytest.raises(ParseError):
        read(text(whole[:-30]))
    deep = '{"pg_config": 1, "entries": ' + "[" * 100_000
    with pytest.raises(ParseError):
        read(text(deep))


def test_other_texts_are_left_alone() -> None:
    for other in (binary(b"\x7fELF\x02\x01"), text('{"entries": [1]}\n'), text("pg_config entries\n"), text("")):
        assert not flight_recorder.recognise(other)
        assert read(other) == ()


def test_damaged_bytes_give_a_value_or_a_parse_error() -> None:
    chance = random.Random(5)
    good = [pickle.dumps(dump(), 2), pickle.dumps(dump(), 4), RECORDED.read_bytes()]
    for number in range(600):
        data = bytearray(good[number % 3])
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(2, len(data))
            match chance.randrange(4):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    del data[at : at + chance.randint(1, 20)]
                case 2:
                    data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 8)))
                case _:
                    del data[max(at, 3) :]
            if len(data) < 4:
                break
        try:
            for record in read(binary(bytes(data))):
                assert all(isinstance(e.sequence, int) and isinstance(e.op, str) for e in record.entries)
        except ParseError as error:
            assert error.source == "nccl_trace_rank_3"


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**500), 2**500) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None, database=None)
@given(plain, st.integers(3, 5))
def test_plain_values_are_read_as_pickle_reads_them(value: Any, protocol: int) -> None:
    assert plain_pickle.load(pickle.dumps(value, protocol)) == value


@settings(max_examples=200, deadline=None, database=None)
@given(st.binary(max_size=80))
def test_any_bytes(data: bytes) -> None:
    try:
        plain_pickle.load(b"\x80\x04" + data)
    except plain_pickle.NotPlainError as error:
        assert str(error)


@settings(max_examples=100, deadline=None, database=None)
@given(plain)
def test_any_values_in_a_dump(value: Any) -> None:
    strange = {"version": value, "entries": [dict.fromkeys(dump()["entries"][0], value), value], "rank": value}
    assert len(read(binary(pickle.dumps(strange)))) == 1
