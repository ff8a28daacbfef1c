"""Many questions to a host in one round trip: a script that puts them beside each other, and its framed answers."""

import math
import re
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from msgspec.structs import replace

from qops.errors import TransportError
from qops.evidence.clock import HostClock, measured
from qops.transports.base import Completed, Transport
from qops.transports.far import outcome
from qops.transports.streams import ERRORS, NOISE, OUTPUT

Take = Callable[[int, float, Completed], None]
"""Gets a question's number, the seconds after the start at which it was put, and its answer."""

WORKERS = 8  # questions at once: more would make the answers of a busy host slower, not sooner
FEWEST = 4  # also where the host has fewer processors: one may hang
GRACE = 2  # seconds after the end in which commands that were stopped may still be told of
_BLOCK = 512  # bytes: what `ulimit -f` counts in, POSIX

# Answers wait in files below /run (memory) or /tmp, so that one that is slow or large keeps no other from being asked.
# Whoever makes the file of a question's number first (`set -C`) asks it. Its answer is a frame between marks that
# nobody on the host can guess. What must not outlive us is listed in files, each the process group of one command.
_DRIVER = """{{
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin LC_ALL=C.UTF-8; export PATH LC_ALL; unset LANGUAGE; cd /
exec 3<&0 </dev/null 2>/dev/null  # shells tell there of what was killed
umask 077
d=$(mktemp -d /run/qops.XXXXXXXX 2>/dev/null || mktemp -d 2>/dev/null) || {{ echo '{mark} nowhere'; exit 0; }}
end_all() {{
  true >|"$d/over"
  for f in "$d"/*.group; do
    read -r g <"$f" && {{ kill -TERM "-$g" || kill -TERM "$g"; }}
  done
}}
trap 'rm -rf "$d" || {{ sleep 1; rm -rf "$d"; }}' EXIT
trap 'end_all; sleep 1; exit 1' HUP INT TERM PIPE
mkfifo "$d/said" && exec 4<>"$d/said" || {{ echo '{mark} nowhere'; exit 0; }}
set -C
read -r zero _ </proc/uptime
printf '\n{mark} begun %s %s\n' "$zero" "$(date +%s.%N%z)"
zero=${{zero%.*}}
put() {{
  n=$1 limit=$2; shift 2
  {{ true >"$d/$n"; }} 2>/dev/null || return 0
  read -r from _ </proc/uptime
  left=$((zero + {seconds} - ${{from%.*}})) cut=whole
  if [ "$left" -lt 1 ] || [ -e "$d/over" ]; then echo "$n 0 $from $from unasked" >&4; return 0; fi
  [ "$left" -ge "$limit" ] || limit=$left cut=cut
  (ulimit -f {blocks}; exec timeout -k 1 "$limit" "$@") >"$d/$n.out" 2>"$d/$n.err" 3<&- 4>&- &
  {{ echo $! >|"$d/$n.group"; }} 2>/dev/null
  wait $!
  status=$?
  {{ true >|"$d/$n.group"; }} 2>/dev/null
  read -r to _ </proc/uptime
  echo "$n $status $from $to $cut" >&4
}}
later() {{
  n=$1 limit=$2 due=$3; shift 3
  sleep "$due" 3<&- 4>&- &
  {{ echo $! >|"$d/$n.group"; }} 2>/dev/null
  wait $!
  [ -d "$d" ] && put "$n" "$limit" "$@"
}}
work() {{
:
{questions}
}}
{{
  {lifeline} &
  echo $! >"$d/lifeline"
  wait $!
  end_all
  sleep 1
  echo over >&4
}} >/dev/null 2>&1 &
watch=$!
exec 3<&-
n=$(nproc 2>/dev/null || echo {fewest})
[ "$n" -gt {fewest} ] || n={fewest}
for w in {workers}; do [ "$w" -gt "$n" ] || work & done
{sampled}
left={count}
while [ "$left" -gt 0 ] && read -r n status from to cut <&4 && [ "$n" != over ]; do
  left=$((left - 1))
  printf '\\n{mark} %s %s %s %s %s\\n' "$n" "$status" "$from" "$to" "$cut"
  [ ! -s "$d/$n.out" ] || cat "$d/$n.out"
  printf '\\n{mark}\\n'
  [ ! -s "$d/$n.err" ] || head -c {errors} "$d/$n.err"
  printf '\\n{mark}\\n'
  {{ true >|"$d/$n.out"; true >|"$d/$n.err"; }} 2>/dev/null
done
{{ read -r lifeline <"$d/lifeline" && kill "$watch" "$lifeline"; }} 2>/dev/null
exit 0
}}
"""
_DATE = re.compile(rb"(\d{1,12})\.(?:(\d{9})|%?N)([+-]\d{4})")  # busybox may not know %N
TIMED_OUT = (124, 137)  # what timeout(1) gives when the time is over, and when it had to kill
_TOO_LARGE = 128 + 25  # SIGXFSZ: it wrote more than `ulimit -f` allows


@runtime_checkable
class Batching(Transport, Protocol):
    """A host that can be asked many questions at once. `clock` is its own, once that was measured by a batch."""

    clock: HostClock | None

    def batch(self, puts: "Sequence[Put]", *, seconds: float, take: Take) -> bool:
        """Put all of `puts`; give each answer to `take` as it comes. What did not come back is not told of.

        Returns False, having asked nothing, when the host lacks what that needs.
        """
        ...


@dataclass(frozen=True, slots=True)
class Put:
    """One question: `argv` for at most `limit` seconds, asked `due` seconds after the start. `reads` a file."""

    number: int
    argv: tuple[str, ...]
    limit: float
    due: float = 0.0
    reads: bool = False


def script(puts: Sequence[Put], mark: str, seconds: float, *, held: bool) -> str:
    """Return the script for a POSIX shell with mktemp, mkfifo and timeout.

    It begins none of `puts` after `seconds`. With `held`, everything ends when its standard input does. Of an answer
    64 MiB are kept, of its errors 1 MiB.
    """
    now = [put for put in puts if put.due <= 0]
    over = math.ceil(seconds) + GRACE
    return _DRIVER.format(
        mark=mark,
        seconds=max(1, round(seconds)),
        blocks=OUTPUT // _BLOCK,
        errors=ERRORS,
        questions="\n".join(f"put {put.number} {_words(put)}" for put in now),
        sampled="\n".join(
            f"later {put.number} {max(1, round(put.limit))} {put.due:g} {shlex.join(put.argv)} &"
            for put in puts
            if put.due > 0
        ),
        workers=" ".join(str(number + 1) for number in range(min(WORKERS, len(now)))),
        fewest=FEWEST,
        count=len(puts),
        lifeline=f"timeout {over} cat <&3" if held else f"sleep {over}",
    )


def _words(put: Put) -> str:
    return f"{max(1, round(put.limit))} {shlex.join(put.argv)}"


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
            rb"\n" + told + rb" (\d{1,6}) (\d{1,3}) ([\d.]{1,20}) ([\d.]{1,20}) (whole|cut|unasked)\n"
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
            errors = bytes(self._kept[middle + len(self._end) : last])
            number, status, begun, ended = int(head[1]), int(head[2]), float(head[3]), float(head[4])
            kind = head[5]
            del self._kept[: last + len(self._end) - 1]
            self._seen = 0
            if (put := self._puts.get(number)) is not None:
                done = Completed(out, errors, status, max(0.0, ended - begun))
                yield number, max(0.0, begun - self._zero), _judged(put, done, kind)
        if len(self._kept) > OUTPUT + ERRORS + NOISE:
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
    if kind == b"unasked" or (kind == b"cut" and done.status in TIMED_OUT):
        return replace(done, status=None, failure="cut", stderr=b"the look ended before it answered")
    if done.status in TIMED_OUT and done.seconds >= put.limit * 0.9:
        return replace(done, status=None, failure="timeout")
    if done.status == _TOO_LARGE and len(done.stdout) >= OUTPUT:
        return replace(done, status=0, discarded=1)
    return outcome(done, OUTPUT) if put.reads else done
