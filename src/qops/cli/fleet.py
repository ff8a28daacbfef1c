"""Looking at many hosts at once, by SSH: in parallel, each for the same time, results in the inventory's order."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import click
from msgspec.structs import replace

from qops.cli import interrupt
from qops.cli.looking import ask
from qops.cli.progress import PATIENCE, Line
from qops.collection import Collection
from qops.engine import judge, observe
from qops.errors import TransportError
from qops.inventory import Host
from qops.job import Judged, judged
from qops.probes.base import Probe
from qops.redaction import Redactor
from qops.report import Coverage, HostReport, Verdict
from qops.rules.listing import Listed
from qops.transports.ssh import Ssh

AT_ONCE = 256  # hosts that are asked at the same time: most of a look is waiting for samples
BUSY = 8  # of them at once from the connection until most has answered: that costs processor time, here and there
FEW = 4  # questions that may still be open then, and
HOLD = 10.0  # seconds after which a host counts as one that waits, whatever is open
SILENT = 2.0  # seconds after which a host that is not connected yet does so too: nobody works for one that is silent
TICK = 0.25  # seconds between two looks at how far the hosts are
REASON = 160  # characters of a reason in the line on a host
REPEAT = 10.0  # seconds between two lines of progress where a line cannot be rewritten
MERCY = 5.0  # seconds after Ctrl-C in which hosts hand in what they have; to judge that takes as long as it takes

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Looked(Generic[R]):
    """What became of one host: what was made of its answers, or why there are none. Neither: interrupted before."""

    host: Host
    result: R | None = None
    error: TransportError | None = None


def look(
    hosts: Sequence[Host],
    known: Sequence[Probe],
    make: Callable[[Collection, str, str], R],
    *,
    what: str,
    seconds: float,
    output: Callable[[Host], str | None] = lambda host: None,
    alike: Redactor | None = None,
    tell: Callable[[Looked[R]], str] = lambda looked: "",
    quiet: bool = False,
) -> tuple[tuple[Looked[R], ...], bool]:
    """Ask every host for `seconds` and `make` a result of what it answers, in the thread that asked it.

    `make` gets the collection, why the connection was lost (or ""), and a line on the bundle (or ""). Secrets in
    bundles get marks like those of `alike`. What `tell` makes of a host is said when that is done, unless it is "".
    Returns what became of each host in the order of `hosts`, and whether Ctrl-C ended it; then what there was is kept,
    and the command is not ended by Ctrl-C before it has written that.
    """
    fleet = _Fleet(hosts, known, make, seconds, output, alike, tell)
    with Line(what, quiet=quiet) as line:
        interrupted = fleet.wait(line, what)
    if len(hosts) > 1 and not quiet and fleet.took:
        slowest = max(fleet.took, key=lambda name: fleet.took[name])
        click.echo(f"{len(fleet.took)} hosts; the slowest was {slowest} with {fleet.took[slowest]:.0f} s", err=True)
    return tuple(fleet.looked.get(number, Looked(host)) for number, host in enumerate(hosts)), interrupted


class _Fleet(Generic[R]):
    """Daemon threads that each take the next host: one that never answers cannot keep the program from ending."""

    def __init__(
        self,
        hosts: Sequence[Host],
        known: Sequence[Probe],
        make: Callable[[Collection, str, str], R],
        seconds: float,
        output: Callable[[Host], str | None],
        alike: Redactor | None,
        tell: Callable[[Looked[R]], str],
    ) -> None:
        self.hosts, self.known, self.make, self.seconds, self.output = hosts, known, make, seconds, output
        self.alike, self.tell = alike, tell
        self.looked: dict[int, Looked[R]] = {}
        self.took: dict[str, float] = {}  # seconds, of those that are done
        self._left: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[int, Looked[R] | BaseException]] = queue.SimpleQueue()
        self._interrupt = interrupt.noted()
        self._busy = threading.Semaphore(BUSY)
        self._silent = threading.Semaphore(BUSY)
        self._doing: dict[int, tuple[float, str]] = {}  # since when, and what is being waited for
        self._judging: set[int] = set()  # those that have answered

    def wait(self, line: Line, what: str) -> bool:
        """Start the threads and wait for every host; return whether Ctrl-C ended it."""
        for number in range(len(self.hosts)):
            self._left.put(number)
        for _ in range(min(AT_ONCE, len(self.hosts))):
            threading.Thread(target=self._work, daemon=True, name="qops-host").start()
        begun = time.monotonic()
        said = begun + PATIENCE - REPEAT
        until = float("inf")
        while len(self.looked) < len(self.hosts):
            try:
                number, outcome = self._done.get(timeout=TICK)
                self._doing.pop(number, None)
                self._judging.discard(number)
                if not isinstance(outcome, Looked):
                    raise outcome
                self.looked[number] = outcome
                if told := self.tell(outcome):
                    line.say(told)
            except queue.Empty:
                pass
            now = time.monotonic()
            if self._interrupt.happened:
                until = min(until, now + MERCY)
                if self._done.empty() and (not self._doing or (now > until and not self._judging)):
                    break
            if line.live or now - said > REPEAT:
                said = now
                line.note(f"{what}: {len(self.looked)} of {len(self.hosts)} done, {now - begun:.0f} s{self._slowest()}")
        return self._interrupt.happened

    def _slowest(self) -> str:
        doing = sorted((since, number, told) for number, (since, told) in tuple(self._doing.items()))
        return f", waiting for {self.hosts[doing[0][1]].name} ({doing[0][2]})" if doing else ""

    def _work(self) -> None:
        while not self._interrupt.happened:
            try:
                number = self._left.get_nowait()
            except queue.Empty:
                return
            try:
                self._done.put((number, self._look(number)))
            except BaseException as error:  # handed to the caller's thread, which raises it
                self._done.put((number, error))

    def _look(self, number: int) -> Looked[R]:
        host = self.hosts[number]
        turn = _Turn(self._busy)
        if self._interrupt.happened:
            turn.close()
            return Looked(host)
        begun = time.monotonic()
        self._doing[number] = (begun, "connecting")

        def progress(done: int, total: int, waiting: tuple[str, ...], elapsed: float) -> None:
            if self._interrupt.happened:
                raise KeyboardInterrupt  # `collect` keeps what there is
            told = waiting[0].split("\n", 1)[0][:40] if waiting and done < total else "judging"
            self._doing[number] = (begun, told)
            if len(waiting) <= FEW or elapsed > HOLD:
                turn.close()

        ssh = Ssh(host)
        patience = threading.Timer(SILENT, turn.instead, (self._silent,))
        patience.start()
        try:
            ssh.connect()
            patience.cancel()
            collection, written = ask(
                ssh,
                self.known,
                seconds=self.seconds,
                output=self.output(host),
                progress=progress,
                alike=self.alike,
            )
            self._judging.add(number)
            lost = ssh.lost
            ssh.stop()
            return Looked(host, self.make(collection, lost, written))
        except TransportError as error:
            return Looked(host, error=error)
        finally:
            patience.cancel()
            turn.close()
            ssh.stop()
            self.took[host.name] = time.monotonic() - begun


class _Turn:
    """One of the hosts that are busy at once. Used by the thread that asks the host, and by a timer."""

    def __init__(self, places: threading.Semaphore) -> None:
        places.acquire()
        self._held: threading.Semaphore | None = places
        self._lock = threading.Lock()

    def instead(self, places: threading.Semaphore) -> None:
        """Give the place to the next host, and take one of `places` for it, if there is one and it is not over."""
        with self._lock:
            if self._held is not None and places.acquire(blocking=False):
                self._held.release()
                self._held = places

    def close(self) -> None:
        """Give the place to the next host, if that was not done."""
        with self._lock:
            if self._held is not None:
                self._held.release()
            self._held = None


def diagnose(
    hosts: Sequence[Host],
    known: Sequence[Probe],
    rules: Sequence[Listed],
    settle: Callable[[HostReport], HostReport],
    *,
    seconds: float,
    lines: bool,
    quiet: bool,
) -> tuple[tuple[Judged, ...], bool]:
    """Judge every host; return the judgements in the order of `hosts`, and whether Ctrl-C ended it.

    `settle` marks the findings of a report that are suppressed. With `lines` the verdict on each of several hosts is
    said on standard error when it is there; that on a host whose job has its cause elsewhere changes later.
    """
    redact = Redactor()

    def make(found: Collection, lost: str, written: str) -> Judged:
        if lost and not found.texts:
            return Judged(unseen(found.host, rules, Verdict.UNREACHABLE, lost))
        evidence = observe(found.texts, found.gaps)
        report = settle(judge(found.host, found.collected_at, evidence, rules))
        short = lost or ("interrupted before everything was asked" if found.interrupted else "")
        if short and report.verdict is not Verdict.FAULT:
            report = replace(report, verdict=Verdict.UNDETERMINED, reason=f"{short}; what came back names no cause")
        return judged(report, evidence, found.clock)

    what = f"looking at {hosts[0].name if len(hosts) == 1 else f'{len(hosts)} hosts'} for {seconds:.0f} s"

    def tell(one: Looked[Judged]) -> str:
        report = one.result.report if one.result else failed(one, rules)
        said = f"{report.host}: {report.verdict}" + (f": {report.reason[:REASON]}" if report.reason else "")
        return redact(said.encode()).decode(errors="replace") if lines and len(hosts) > 1 and not quiet else ""

    looked, interrupted = look(hosts, known, make, what=what, seconds=seconds, tell=tell, quiet=quiet)
    return tuple(one.result or Judged(failed(one, rules)) for one in looked), interrupted


def failed(one: Looked[Judged], rules: Sequence[Listed]) -> HostReport:
    """Return the report on a host that nothing came back from."""
    if one.error is None:
        return unseen(one.host.name, rules, Verdict.UNDETERMINED, "interrupted before it answered")
    reason = one.error.message.removeprefix(f"{one.host.name}: ")
    return unseen(one.host.name, rules, Verdict.UNREACHABLE, f"{reason}; try: {one.error.hint}")


def unseen(host: str, rules: Sequence[Listed], verdict: Verdict, reason: str) -> HostReport:
    """Return the report on a host of which nothing was seen."""
    return HostReport(host, "", verdict, reason, (), (), Coverage(len(rules), 0, (), (), (), ()))
