"""Collecting: every question of every probe put to one host, at once and within a fixed time."""

import queue
import shlex
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from msgspec.structs import replace

from qops import probes
from qops.evidence.text import Gap, Text
from qops.probes.base import Ask, Command, Probe
from qops.probes.scan import finder
from qops.transports.answer import Answer, Collection, collection, interpret
from qops.transports.base import Completed, Transport
from qops.transports.batch import Batching
from qops.transports.batch_script import WORKERS, Put
from qops.transports.far import reading
from qops.transports.streams import OUTPUT

__all__ = ["Collection", "collect"]

READ = 10.0  # seconds for one file
GRACE = 2.5  # seconds after the end in which time-outs that are under way may still be reported
TICK = 0.25  # seconds between two reports of progress

Progress = Callable[[int, int, tuple[str, ...], float], None]
"""Called with (answers had, answers wanted, names of those that are being waited for, seconds since the start)."""


@dataclass(order=True, slots=True)
class _Question:
    """One ask at one time. The first two fields order those that are due: samples first, then as asked."""

    rank: int
    number: int
    ask: Ask = field(compare=False)
    probe: str = field(compare=False)
    due: float = field(compare=False)  # seconds after the start
    sampled: bool = field(compare=False)
    first: int = field(compare=False)  # number of the first question of its series

    @property
    def source(self) -> str:
        return source(self.ask, self.probe)


def source(ask: Ask, probe: str) -> str:
    """Return how the answer to `ask`, of the probe of that name, is quoted."""
    if not isinstance(ask, Command):
        return ask.path
    told = shlex.join(ask.argv)
    return ask.name or (f"{probe} script" if "\n" in told or len(told) > 200 else told)


def _questions(known: Sequence[Probe]) -> list[_Question]:
    """Return every question once: where two probes ask the same, the second recognises the answer by content."""
    asks: dict[tuple[str, ...] | str, tuple[Ask, str]] = {}
    for probe in known:
        for ask in probe.asks:
            asks.setdefault(ask.argv if isinstance(ask, Command) else ask.path, (ask, probe.name))
    questions: list[_Question] = []
    for ask, name in asks.values():
        samples = ask.samples if isinstance(ask, Command) else (0.0,)
        sampled = len(samples) > 1
        first = len(questions)
        questions += [
            _Question(0 if sampled else 1, first + place, ask, name, due, sampled, first)
            for place, due in enumerate(samples)
        ]
    return questions


class _Workers:
    """Daemon threads that put questions: one that never comes back can then not keep the program from ending."""

    def __init__(self, transport: Transport, questions: Sequence[_Question], begun: float, seconds: float) -> None:
        self.transport = transport
        self.begun = begun
        self.seconds = seconds
        self.later = sorted(questions, key=lambda q: q.due)
        self.questions: queue.PriorityQueue[_Question] = queue.PriorityQueue()
        self.answers: _Answers = queue.SimpleQueue()
        self.asked: dict[int, str] = {}  # number of the question to its source
        self.over = False
        for _ in range(WORKERS):
            threading.Thread(target=self.work, daemon=True, name="qops-collect").start()

    def give(self, elapsed: float) -> float:
        """Have the questions put that are due; return the seconds until the next ones are."""
        while self.later and self.later[0].due <= elapsed:
            self.questions.put(self.later.pop(0))
        return min(TICK, max(0.01, self.later[0].due - elapsed)) if self.later else TICK

    def end(self, series: int) -> None:
        """Have no more questions put of the series whose first one has that number."""
        past = [question for question in self.later if question.first == series]
        self.later = [question for question in self.later if question.first != series]
        for question in past:
            self.answers.put((question, _answer(question, Completed(b"", b"", None, 0.0, "past"), question.due)))

    def work(self) -> None:
        while not self.over:
            try:
                question = self.questions.get(timeout=TICK)
            except queue.Empty:
                continue
            if self.over:
                return
            self.asked[question.number] = question.source
            try:
                self.answers.put((question, self.put(question)))
            except BaseException as error:  # handed to the caller's thread, which raises it
                self.answers.put((question, error))

    def put(self, question: _Question) -> Answer:
        ask = question.ask
        at = time.monotonic() - self.begun
        left = max(0.0, self.seconds - at)
        limit = ask.timeout if isinstance(ask, Command) else READ
        if left == 0.0:
            done = Completed(b"", b"", None, 0.0, "timeout")
        elif isinstance(ask, Command):
            done = self.transport.run(ask.argv, timeout=min(limit, left))
        else:
            done = self.transport.read(ask.path, timeout=min(limit, left))
        if done.failure == "timeout" and left < limit:
            # We left before its time was over: that says nothing about the host.
            done = replace(done, failure="cut", stderr=b"the look ended before it answered")
        return _answer(question, done, at)


class _Batch:
    """A daemon thread that puts all questions in one round trip. `asked` is all that are due."""

    def __init__(self, transport: Batching, questions: Sequence[_Question], seconds: float) -> None:
        self.transport = transport
        self.questions = {question.number: question for question in sorted(questions)}
        self.seconds = seconds
        self.answers: _Answers = queue.SimpleQueue()
        self.asked: dict[int, str] = {}
        self.over = False
        threading.Thread(target=self.work, daemon=True, name="qops-collect").start()

    def give(self, elapsed: float) -> float:
        """Note which questions are due; return the seconds until that is to be asked again."""
        self.asked = {number: question.source for number, question in self.questions.items() if question.due <= elapsed}
        return TICK

    def work(self) -> None:
        try:
            took = self.transport.batch(
                [_put(q) for q in self.questions.values()], seconds=self.seconds, take=self.take
            )
            self.answers.put((None, None if took else _NotAtOnceError()))
        except BaseException as error:  # handed to the caller's thread, which raises it
            self.answers.put((None, error))

    def take(self, number: int, at: float, done: Completed) -> None:
        self.answers.put((self.questions[number], _answer(self.questions[number], done, at)))


class _NotAtOnceError(Exception):
    """The host cannot be asked all at once."""


_Answers = queue.SimpleQueue[tuple[_Question | None, Answer | BaseException | None]]


def _put(question: _Question) -> Put:
    ask = question.ask
    if isinstance(ask, Command):
        return Put(question.number, ask.argv, ask.timeout, question.due, after=question.first)
    return Put(question.number, reading(ask.path, OUTPUT), READ, question.due, reads=True)


def collect(
    transport: Transport,
    known: Sequence[Probe],
    *,
    seconds: float,
    progress: Progress = lambda done, total, waiting, elapsed: None,
    record: Callable[[Answer], None] = lambda answer: None,
) -> Collection:
    """Put all questions of `known` to the host of `transport`, and return what came back within `seconds`.

    What did not come back is a gap; a sample that is due after the end is not taken. `record` gets each raw answer
    as it comes (it is a bundle writer's `add`). Ctrl-C ends the collection and keeps what there is. TransportError
    is raised when the host cannot be reached.
    """
    collected_at = datetime.now(UTC).isoformat(timespec="seconds")
    begun = time.monotonic()
    questions = [q for q in _questions(known) if q.due < seconds]
    asking: _Workers | _Batch = (
        _Batch(transport, questions, seconds)
        if isinstance(transport, Batching)
        else _Workers(transport, questions, begun, seconds)
    )
    find = finder(probes.literals())
    heard: dict[int, tuple[Text | None, Gap | None]] = {}
    interrupted = False

    def keep(question: _Question, answer: Answer) -> None:
        if answer.completed.failure == "past":
            heard[question.number] = None, None  # an earlier answer of the series says why
            return
        nothing = bool(answer.completed.status) or answer.completed.failure == "missing"
        if nothing and question.sampled and isinstance(asking, _Workers):
            asking.end(question.first)
        record(answer)
        heard[question.number] = interpret(answer, find)  # at once: of a long answer little is kept

    try:
        while len(heard) < len(questions):
            elapsed = time.monotonic() - begun
            if elapsed >= seconds + GRACE and isinstance(asking, _Workers):
                break
            patience = asking.give(elapsed)
            waiting = tuple(dict.fromkeys(name for n, name in tuple(asking.asked.items()) if n not in heard))
            progress(len(heard), len(questions), waiting, elapsed)
            try:
                question, answer = asking.answers.get(timeout=patience)
            except queue.Empty:
                continue
            if isinstance(answer, _NotAtOnceError):
                asking = _Workers(transport, questions, begun, seconds)
            elif isinstance(answer, BaseException):
                raise answer
            elif question is None or answer is None:
                break
            else:
                keep(question, answer)
        progress(len(heard), len(questions), (), time.monotonic() - begun)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        asking.over = True
        if len(heard) < len(questions):
            transport.stop()
    for question in questions:
        if question.number not in heard:
            cut = interrupted or question.number not in asking.asked
            keep(question, _unanswered(question, seconds, cut=cut, ended=isinstance(asking, _Batch)))
    return collection(
        (heard[question.number] for question in questions),
        host=transport.name,
        collected_at=collected_at,
        interrupted=interrupted,
        clock=transport.clock if isinstance(transport, Batching) else None,
    )


def _answer(question: _Question, done: Completed, at: float) -> Answer:
    ask = question.ask
    return Answer(
        question.source,
        done,
        argv=ask.argv if isinstance(ask, Command) else (),
        path="" if isinstance(ask, Command) else ask.path,
        probe=question.probe,
        at=round(at, 3) if question.sampled else None,
        binary=ask.binary,
        number=question.number,
    )


def _unanswered(question: _Question, seconds: float, *, cut: bool, ended: bool) -> Answer:
    if cut:
        done = Completed(b"", b"the look ended before it answered", None, seconds, "cut")
    elif ended:
        done = Completed(b"", b"the host ended the look before it answered", None, seconds, "failed")
    else:
        done = Completed(b"", b"", None, seconds, "timeout")
    return _answer(question, done, question.due)
