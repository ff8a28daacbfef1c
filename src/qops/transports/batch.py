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
# Questions are put by a few workers: shells that each take the next one, as a file of shell code, so that a question
# costs a fork and no shell, no timeout(1) of its own. Whoever makes the file of a question's number first (`set -C`)
# asks it. A worker says in `WORKER.now` what it asks and until when, in hundredths of a second. One that asks for too
# long is ended with its process group, the question has no answer, and a new worker goes on with the next.
# Answers are sent on together, those of a fifth of a second by one cat(1). Each is a frame between marks that nobody
# on the host can guess.
_WORK = """d=$1 w=$2 zero=$3 p= over=; shift 3; cd /
ulimit -f {blocks}
trap 'over=yes; kill "$p"' TERM
now() {{ read -r at _ </proc/uptime; cs=${{at%.*}}${{at#*.}}; }}
for put in "$@"; do
  n=${{put%:*}} limit=${{put#*:}}
  set -C
  true >"$d/$n" || continue
  set +C
  now; from=$at cut=whole
  left=$((zero + {seconds} - ${{from%.*}}))
  if [ "$left" -lt 1 ] || [ -e "$d/over" ]; then echo "$n 0 $from $from unasked" >&4; continue; fi
  [ "$left" -ge "$limit" ] || limit=$left cut=cut
  echo "$n $from $cut $((cs + 100 * limit))" >"$d/$w.now"
  (set --; . "$d/$n.ask") >"$d/$n.out" 2>"$d/$n.err" 4>&- &
  p=$!
  while wait $p; status=$?; [ "$status" -gt 128 ] && kill -0 $p; do :; done
  [ -z "$over" ] || exit  # who started this shell tells of the question
  now
  echo "$n $status $from $at $cut" >&4
  true >"$d/$w.now"
done
"""
_DRIVER = """{{
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin LC_ALL=C.UTF-8; export PATH LC_ALL; unset LANGUAGE; cd /
exec 3<&0 </dev/null 2>/dev/null  # shells tell there of what was killed
umask 077
nowhere() {{ echo '{mark} nowhere'; exit 0; }}
timeout -k 1 9 true || nowhere
d=$(mktemp -d /run/qops.XXXXXXXX 2>/dev/null || mktemp -d 2>/dev/null) && cd "$d" || nowhere
end_all() {{
  true >over
  for g in *.group; do
    read -r g <"$g" && {{ kill -TERM "-$g" || kill -TERM "$g"; }}
  done
}}
trap 'rm -rf "$d" || {{ sleep 1; rm -rf "$d"; }}' EXIT
trap 'end_all; sleep 1; exit 1' HUP INT TERM PIPE
mkfifo said && exec 4<>said || nowhere
{files}
printf '\n{mark}\n' >mark
read -r zero _ </proc/uptime
printf '\n{mark} begun %s %s\n' "$zero" "$(date +%s.%N%z)"
begun=${{zero%.*}}${{zero#*.}} zero=${{zero%.*}}
work() {{
  w=$1; shift
  while true >"$w.now"; do
    timeout -k 1 {over} sh work "$d" "$w" "$zero" "$@" 3<&- &
    echo $! >"$w.group"
    wait $!
    true >"$w.group"
    read -r n from cut _ <"$w.now" || return 0
    read -r at _ </proc/uptime
    echo "$n {killed} $from $at $cut" >&4
  done
}}
overdue() {{
  read -r at _ </proc/uptime; at=${{at%.*}}${{at#*.}}
  for w in *.now; do
    read -r n _ _ until <"$w" && [ "$at" -ge "$until" ] && read -r g <"${{w%now}}group" || continue
    kill -TERM "-$g" || kill -TERM "$g"
  done
{sampled}
}}
due() {{
  [ ! -e "$1.now" ] && {{ [ "$at" -ge "$((begun + $2))" ] || [ -e over ]; }} || return 0
  true >"$1.now"
  work "$1" "$1:$3" >/dev/null &
}}
said=
say() {{
  [ -z "$said" ] || cat $said
  for f in $said; do case $f in *.out | *.err) true >"$f" ;; esac; done
  said=
}}
{{
  {lifeline} &
  echo $! >lifeline
  wait $!
  end_all
  echo tick >&4
  sleep 1
  echo over >&4
}} >/dev/null 2>&1 &
lifeline=$!
while sleep 1; do echo tick; done >&4 3<&- &
ticks=$!
exec 3<&-
n=$(nproc 2>/dev/null || echo {fewest})
[ "$n" -gt {fewest} ] || n={fewest}
for w in {workers}; do [ "$w" -gt "$n" ] || work "w$w" {now} >/dev/null & done
left={count} known=' '
while [ "$left" -gt 0 ] && read -r n status from to cut <&4 && [ "$n" != over ]; do
  case $n in
    tick) overdue; continue ;;
    say) say; continue ;;
  esac
  case $known in *" $n "*) continue ;; esac
  known="$known$n " left=$((left - 1))
  [ -n "$said" ] || {{ sleep 0.2; echo say; }} >&4 3<&- &
  printf '\n{mark} %s %s %s %s %s\n' "$n" "$status" "$from" "$to" "$cut" >"$n.head"
  said="$said $n.head"
  [ ! -s "$n.out" ] || said="$said $n.out"
  said="$said mark"
  [ ! -s "$n.err" ] || said="$said $n.err"
  said="$said mark"
done
say
{{ read -r n <lifeline; kill "$lifeline" "$ticks" "$n"; }} 2>/dev/null
exit 0
}}
"""
_DATE = re.compile(rb"(\d{1,12})\.(?:(\d{9})|%?N)([+-]\d{4})")  # busybox may not know %N
TIMED_OUT = (124, 137)  # what the script says when the time is over, and timeout(1) when it had to kill
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
    64 MiB are kept.
    """
    over = math.ceil(seconds) + GRACE
    now = [put for put in puts if put.due <= 0]
    files = {"work": _WORK.format(blocks=OUTPUT // _BLOCK, seconds=max(1, round(seconds)))}
    files |= {f"{put.number}.ask": _code(put.argv) for put in puts}
    return _DRIVER.format(
        mark=mark,
        files="\n".join(f"printf %s {shlex.quote(text)} >{name}" for name, text in files.items()),
        over=over,
        killed=TIMED_OUT[0],
        sampled="\n".join(f"  due {put.number} {round(100 * put.due)} {_limit(put)}" for put in puts if put.due > 0),
        lifeline=f"timeout {over} cat <&3" if held else f"sleep {over}",
        fewest=FEWEST,
        workers=" ".join(str(number + 1) for number in range(min(WORKERS, len(now)))),
        now=" ".join(f"{put.number}:{_limit(put)}" for put in now),
        count=len(puts),
    )


def _limit(put: Put) -> int:
    return max(1, round(put.limit))


def _code(argv: tuple[str, ...]) -> str:
    """Return what a shell runs to do as `argv` does, without another shell where that is one."""
    if len(argv) == 3 and argv[:2] == ("sh", "-c"):
        return argv[2] + "\n"
    name = shlex.quote(argv[0])
    return f"command -v {name} >/dev/null || {{ echo {name}: not found >&2; exit 127; }}\nexec {shlex.join(argv)}\n"


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
    if kind == b"unasked" or (kind == b"cut" and done.status in TIMED_OUT):
        return replace(done, status=None, failure="cut", stderr=b"the look ended before it answered")
    if done.status in TIMED_OUT and done.seconds >= put.limit * 0.9:
        return replace(done, status=None, failure="timeout")
    if done.status == _TOO_LARGE and len(done.stdout) >= OUTPUT:
        return replace(done, status=0, discarded=1)
    return outcome(done, OUTPUT) if put.reads else done
