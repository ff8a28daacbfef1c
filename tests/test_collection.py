import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from qops.collection import collect
from qops.errors import TransportError
from qops.evidence.text import Text
from qops.probes.base import Ask, Command, Probe, Read
from qops.recording import recorded
from qops.transports import bundle_writer
from qops.transports.answer import Answer
from qops.transports.base import Completed
from qops.transports.local import Local


def probe(*asks: Ask, name: str = "p") -> Probe:
    return Probe(name, makes=str, parse=lambda texts: None, recognise=lambda text: False, asks=asks)


class Fake:
    """A host whose commands are functions."""

    name = "fake"

    def __init__(self, **answers: Callable[[float], Completed]) -> None:
        self.answers = answers
        self.stopped = False
        self.asked: list[tuple[str, ...]] = []
        self.at_once = self.most = 0
        self.lock = threading.Lock()

    def run(self, argv: tuple[str, ...], *, timeout: float) -> Completed:
        with self.lock:
            self.asked.append(argv)
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        try:
            return self.answers[argv[0]](timeout)
        finally:
            with self.lock:
                self.at_once -= 1

    def read(self, path: str, *, timeout: float) -> Completed:
        return Completed(b"", b"No such file or directory", None, 0.0, "missing")

    def stop(self) -> None:
        self.stopped = True


def ok(text: str, pause: float = 0.0) -> Callable[[float], Completed]:
    def answer(timeout: float) -> Completed:
        time.sleep(pause)
        return Completed(text.encode(), b"", 0, pause)

    return answer


def test_answers_come_in_the_order_of_the_questions() -> None:
    host = Fake(slow=ok("s", 0.3), fast=ok("f"))
    asks = (Command(("slow", "a b"), ""), Command(("fast",), "", name="short name"), Read("/none", ""))
    found = collect(host, [probe(*asks)], seconds=5)
    assert found.texts == (
        Text("slow 'a b'", ("s",), probe="p", status=0),
        Text("short name", ("f",), probe="p", status=0),
    )
    assert [(gap.source, gap.kind, gap.probe) for gap in found.gaps] == [("/none", "missing", "p")]
    assert found.host == "fake" and found.collected_at.endswith("+00:00") and not found.interrupted


def test_the_same_question_is_put_once() -> None:
    host = Fake(x=ok("1"))
    found = collect(host, [probe(Command(("x",), "")), probe(Command(("x",), ""), name="q")], seconds=5)
    assert [text.probe for text in found.texts] == ["p"] and len(host.asked) == 1


def test_samples_are_taken_over_time_and_not_after_the_end() -> None:
    host = Fake(x=ok("1"))
    found = collect(host, [probe(Command(("x",), "", samples=(0.0, 0.3, 0.6, 9.0)))], seconds=1)
    times = [text.at or 0.0 for text in found.texts]
    assert len(times) == 3
    assert all(at >= due for at, due in zip(times, (0.0, 0.3, 0.6), strict=True))
    assert found.gaps == ()


@pytest.mark.parametrize("host", [Fake, Local], ids=["one by one", "this host"])
def test_a_series_ends_where_there_is_nothing_to_follow(host: type[Fake] | type[Local]) -> None:
    """And is no gap: the answer that ended it says why. One that ran out of time, or was cut, says nothing."""

    def none(timeout: float) -> Completed:
        return Completed(b"no engine\n", b"", 1, 0.0)

    def late(timeout: float) -> Completed:
        return Completed(b"", b"", None, 0.1, "timeout")

    asks = (
        Command(("sh", "-c", "echo no engine; exit 1"), "", name="none", samples=(0.0, 0.4, 300.0)),
        Command(("timeout", "0.1", "sleep", "9"), "", timeout=0.1, name="late", samples=(0.0, 0.4)),
    )
    asked = Fake(sh=none, timeout=late) if host is Fake else Local()
    found = collect(asked, [probe(*asks)], seconds=600)
    assert [(text.source, text.lines) for text in found.texts] == [("none", ("no engine",))]
    assert [(gap.source, gap.kind) for gap in found.gaps] == [("late", "timeout")] * 2


def test_no_more_than_eight_at_once_and_samples_first() -> None:
    host = Fake(x=ok("1", 0.05), sample=ok("2"))
    asks = [Command(("x", str(n)), "") for n in range(30)]
    found = collect(host, [probe(*asks, Command(("sample",), "", samples=(0.0, 0.1)))], seconds=10)
    assert host.most <= 8 and len(found.texts) == 32
    assert ("sample",) in host.asked[:9]


def test_what_never_comes_back_is_a_gap_and_is_named_while_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qops.collection.GRACE", 0.2)
    release = threading.Event()

    def hang(timeout: float) -> Completed:
        release.wait(20)
        return Completed(b"", b"", 0, 0.0)

    seen: list[tuple[int, int, tuple[str, ...]]] = []
    host = Fake(hang=hang, fine=ok("1"))
    begun = time.monotonic()
    found = collect(
        host,
        [probe(Command(("hang",), ""), Command(("fine",), ""))],
        seconds=0.5,
        progress=lambda done, total, waiting, elapsed: seen.append((done, total, waiting)),
    )
    release.set()
    assert time.monotonic() - begun < 3
    assert (1, 2, ("hang",)) in seen
    assert [(gap.source, gap.kind) for gap in found.gaps] == [("hang", "timeout")]
    assert host.stopped


def test_ctrl_c_keeps_what_there_is() -> None:
    def impatient(done: int, total: int, waiting: tuple[str, ...], elapsed: float) -> None:
        if done:
            raise KeyboardInterrupt

    host = Fake(fine=ok("1"), slow=ok("2", 2.0))
    records: list[Answer] = []
    asks = (Command(("fine",), ""), Command(("slow",), ""))
    found = collect(host, [probe(*asks)], seconds=9, progress=impatient, record=records.append)
    assert found.interrupted and host.stopped
    assert [text.source for text in found.texts] == ["fine"]
    assert [(gap.source, gap.reason) for gap in found.gaps] == [("slow", "the look ended before it answered")]
    assert len(records) == 2


def test_a_host_that_cannot_be_reached_is_an_error() -> None:
    def refuse(timeout: float) -> Completed:
        raise TransportError("connection refused")

    with pytest.raises(TransportError):
        collect(Fake(x=refuse), [probe(Command(("x",), ""))], seconds=5)


def test_a_failure_with_output_is_an_answer_and_one_without_is_a_gap() -> None:
    asks = (
        Command(("sh", "-c", "echo partly; echo broken >&2; exit 9"), "", name="a"),
        Command(("sh", "-c", "echo 'x: Permission denied' >&2; exit 1"), "", name="b"),
        Command(("sh", "-c", "exit 1"), "", name="c"),
        Command(("no-such-program-here",), "", name="d"),
        Command(("sleep", "30"), "", timeout=0.2, name="e"),
    )
    found = collect(Local(), [probe(*asks)], seconds=10)
    assert [(t.source, t.lines, t.status) for t in found.texts] == [("a", ("partly", "broken"), 9), ("c", (), 1)]
    assert [(gap.source, gap.kind) for gap in found.gaps] == [("b", "denied"), ("d", "missing"), ("e", "timeout")]


def test_a_recorded_collection_is_the_collection(tmp_path: Path) -> None:
    asks = (
        Command(("echo", "hi"), ""),
        Command(("date",), "", samples=(0.0, 0.2)),
        Read("/proc/version", ""),
        Command(("nope",), ""),
    )
    host = Local()
    with bundle_writer.Writer(tmp_path / "b.tar.gz", host.name) as writer:
        live = collect(host, [probe(*asks)], seconds=5, record=writer.add)
    (again,) = recorded([tmp_path / "b.tar.gz"])
    assert (again.texts, again.gaps, again.host) == (live.texts, live.gaps, live.host)
