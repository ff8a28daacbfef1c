"""The shell script by which a host answers many questions at once."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from qops.transports.streams import OUTPUT

WORKERS = 8  # questions at once: more would make the answers of a busy host slower, not sooner
FEWEST = 4  # also where the host has fewer processors: one may hang
GRACE = 2  # seconds after the end in which commands that were stopped may still be told of
_BLOCK = 512  # bytes: what `ulimit -f` counts in, POSIX

# Answers wait in files below /run (memory) or /tmp, so that one that is slow or large keeps no other from being asked.
# Questions are put by a few workers: shells that each take the next one, as a file of shell code, so that a question
# costs a fork and no shell, no timeout(1) of its own. Whoever makes the file of a question's number first (`set -C`)
# asks it. A worker says in `WORKER.now` what it asks and until when, in hundredths of a second. One that asks for too
# long is ended with its process group, the question has no answer, and a new worker goes on with the next.
# Answers are sent on together, those of half a second by one cat(1). Each is a frame between marks that nobody
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
GOMAXPROCS=1; export GOMAXPROCS  # clients of container engines, which start as many threads as there are processors
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
  [ ! -e "$1.now" ] || return 0
  if [ -e "$4.none" ]; then true >"$1.now"; echo "$1 0 0 0 past" >&4; return 0; fi
  [ "$at" -ge "$((begun + $2))" ] || [ -e over ] || return 0
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
  [ -n "$said" ] || {{ sleep 0.5; echo say; }} >&4 3<&- &
  printf '\n{mark} %s %s %s %s %s\n' "$n" "$status" "$from" "$to" "$cut" >"$n.head"
  said="$said $n.head"
  [ ! -s "$n.out" ] || said="$said $n.out"
  said="$said mark"
  [ ! -s "$n.err" ] || said="$said $n.err"
  said="$said mark"
  case $status in 0 | {killed} | {ended}) ;; *) true >"$n.none" ;; esac
done
say
{{ read -r n <lifeline; kill "$lifeline" "$ticks" "$n"; }} 2>/dev/null
exit 0
}}
"""
TIMED_OUT = (124, 137)  # what the script says when the time is over, and timeout(1) when it had to kill


@dataclass(frozen=True, slots=True)
class Put:
    """One question: `argv` for at most `limit` seconds, asked `due` seconds after the start. `reads` a file.

    It is not asked, and its answer is the failure "past", when that to the question `after` ended with another exit
    status than 0.
    """

    number: int
    argv: tuple[str, ...]
    limit: float
    due: float = 0.0
    reads: bool = False
    after: int = -1


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
        ended=TIMED_OUT[1],
        sampled="\n".join(
            f"  due {put.number} {round(100 * put.due)} {_limit(put)} {put.after}" for put in puts if put.due > 0
        ),
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
