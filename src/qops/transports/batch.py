"""Many questions to a host in one round trip: what a host is that takes them, and how its framed answers are read."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from msgspec.structs import replace

from qops.errors import TransportError
from qops.evidence.clock import HostClock, measured
from qops.transports.base import Completed, Transport
from qops.transports.batch_script import TIMED_OUT, Put, script
from qops.transports.far import outcome
from qops.transports.streams import ERRORS, NOISE, OUTPUT

Take = Callable[[int, float, Completed], None]
"""Gets a question's number, the seconds after the start at which it was put, and its answer."""

_DATE = re.compile(rb"(\d{1,12})\.(?:(\d{9})|%?N)([+-]\d{4})")  # busybox may not know %N
_TOO_LARGE = 128 + 25  # SIGXFSZ: it wrote more than `ulimit -f` allows


@runtime_checkable
class Batching(Transport, Protocol):
    """A host that can be asked many questions at once. `clock` is its own, once that was measured by a batch."""

    clock: HostClock | None

    def batch(self, puts: Sequence[Put], *, seconds: float, take: Take) -> bool:
        """Put all of `puts`; give each answer to `take` as it comes. What did not come back is not told of.

        Returns False, having asked nothing, when the host lacks what that needs.
        """
        ...


class Frames:
    """Takes apart what `script` says, as it arrives. `begun`: it runs. `refused`: the host has no place for answers.

    `clock` is the host's beside the one here, when `sent` says at what time (epoch) the script's last byte went there.
    """

    def __init__(self, puts: Sequence[Put], mark: str) -> None:
        self.begun = self.refused = False
        self.sent: float | None = None
        self.clock: HostClock | None = None
        self._puts = {put.number: put for put in puts}
        self._mark = mark
        self._kept = bytearray()
        self._seen = 0  # up to here no frame is whole
        self._zero = 0.0  # the host's clock at the start
        told = re.escape(mark.encode())
        self._first = re.compile(rb"(?:^|\n)" + told + rb" (?:(nowhere)|begun ([\d.]{1,20})(?: ([^\n]{0,40}))?)\n")
        self._head = re.compile(
            rb"\n" + told + rb" (\d{1,6}) (\d{1,3}) ([\d.]{1,20}) ([\d.]{1,20}) (whole|cut|unasked|past)\n"
        )
        self._end = f"\n{mark}\n".encode()

    def asked(self, seconds: float) -> tuple[bytes, str]:
        """Return the script, which ends with its input, and what a shell runs that gets it by standard input.

        An argument may hold 128 KiB, and one that a login shell hands on is quoted twice.
        """
        text = script(tuple(self._puts.values()), self._mark, seconds, held=True).encode(errors="replace")
        return text, f'eval "$(head -c {len(text)})"'

    def take(self, data: bytes) -> Iterator[tuple[int, float, Completed]]:
        """Yield of each answer that is now whole: its question's number, the seconds at which that was put, and it.

        TransportError when what comes is no answer and does not end.
        """
        self._kept += data
        if not self.begun and (first := self._first.search(self._kept)):
            self.begun, self.refused = first[1] is None, first[1] is not None
            self._zero = float(first[2] or 0)
            if self.sent is not None and first[3]:
                self.clock = _clock(self.sent, first[3], time.time(), self._zero)
            del self._kept[: first.end() - 1]  # its line end may be the next head's
        while self.begun and (head := self._head.search(self._kept)):
            middle = self._kept.find(self._end, max(head.end() - 1, self._seen))
            last = self._kept.find(self._end, middle + len(self._end) - 1) if middle >= 0 else -1
            if last < 0:
                # Not all again with the next piece: an answer may hold 64 MiB.
                self._seen = head.end() - 1 if middle >= 0 else max(0, len(self._kept) - len(self._end))
                break
            out = bytes(self._kept[head.end() : middle])
            errors = bytes(self._kept[middle + len(self._end) : last][:ERRORS])
            number, status, begun, ended = int(head[1]), int(head[2]), float(head[3]), float(head[4])
            kind = head[5]
            del self._kept[: last + len(self._end) - 1]
            self._seen = 0
            if (put := self._puts.get(number)) is not None:
                done = Completed(out, errors, status, max(0.0, ended - begun))
                yield number, max(0.0, begun - self._zero), _judged(put, done, kind)
        if len(self._kept) > 2 * OUTPUT + NOISE:
            raise TransportError("it sends without end", "see what its login shell prints")


def _clock(sent: float, said: bytes, received: float, uptime: float) -> HostClock | None:
    """Return the clock of a host whose date(1) `said` its time; one without fractions means any moment of a second."""
    told = _DATE.fullmatch(said)
    if told is None:
        return None
    there = int(told[1]) + (float(b"0." + told[2]) if told[2] else 0.5)
    hours, minutes = int(told[3][:3]), int(told[3][3:])
    zone = hours * 3600 + (-60 if told[3].startswith(b"-") else 60) * minutes
    clock = measured(sent, there, received, boot=there - uptime, zone=zone)
    return clock if told[2] else replace(clock, within=clock.within + 0.5)


def _judged(put: Put, done: Completed, kind: bytes) -> Completed:
    if kind == b"past":
        return replace(done, status=None, failure="past")
    if kind == b"unasked" or (kind == b"cut" and done.status in TIMED_OUT):
        return replace(done, status=None, failure="cut", stderr=b"the look ended before it answered")
    if done.status in TIMED_OUT and done.seconds >= put.limit * 0.9:
        return replace(done, status=None, failure="timeout")
    if done.status == _TOO_LARGE and len(done.stdout) >= OUTPUT:
        return replace(done, status=0, discarded=1)
    return outcome(done, OUTPUT) if put.reads else done
