"""A program on a host of Ansible's that is a unit of its own, so that it ends by itself whatever becomes of Ansible."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from qops.bridge.transport import Shell
from qops.errors import TransportError, UsageError
from qops.transports.base import clean

FOLDER = "/run/qops/programs"
_MARK = "qops-program"
_LONGEST = 20  # seconds for which the host waits for more lines; an SSH connection that is silent for long may be cut
# The script is a file: systemd would take `$` out of arguments, and they would stand in the process list twice.
_BEGIN = """\
umask 077
if systemctl is-active -q -- {unit}; then echo {mark} busy; exit 0; fi
mkdir -p {folder} && rm -f {base}.out {base}.status && : >{base}.out || exit 1
cat >{base}.sh <<'{mark}-end'
{command} >{base}.out 2>&1 </dev/null
echo $? >{base}.new
mv {base}.new {base}.status
{mark}-end
exec </dev/null
set -- --quiet --collect --unit={unit} --service-type=exec --description={description}
systemd-run "$@" /bin/sh {base}.sh && echo {mark} begun
"""
_FOLLOW = """\
n=0
while :; do
  status=$(cat {base}.status 2>/dev/null)
  if [ -z "$status" ] && ! systemctl is-active -q -- {unit}; then
    status=$(cat {base}.status 2>/dev/null || echo gone)
  fi
  lines=$(wc -l <{base}.out)
  n=$((n + 1))
  [ "$lines" -le {seen} ] && [ -z "$status" ] && [ $n -lt {turns} ] || break
  sleep 0.5
done
tail -n +{after} {base}.out | head -n $((lines - {seen}))
echo
echo {mark} "$lines" "$status"
"""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a program said since it was last listened to. `status`: None while it runs, -1 when it was killed."""

    lines: tuple[str, ...]
    seen: int
    status: int | None


def begin(shell: Shell, unit: str, description: str, argv: Sequence[str]) -> None:
    """Start a program. UsageError when it runs already, TransportError when it cannot be started."""
    script = _BEGIN.format(
        unit=shlex.quote(f"{unit}.service"),
        description=shlex.quote(description),
        command=shlex.join(argv),
        folder=FOLDER,
        base=f"{FOLDER}/{unit}",
        mark=_MARK,
    )
    _, out, err = shell(script)
    if f"{_MARK} busy" in out:
        raise UsageError(f"{unit} runs already on this host, and ends by itself", f"see {FOLDER}/{unit}.out there")
    if f"{_MARK} begun" not in out:
        said = clean(err or out).strip().splitlines() or ["systemd-run said nothing"]
        raise TransportError(f"{unit} could not be started: {said[-1][:200]}", "systemctl status says how systemd is")


def follow(shell: Shell, unit: str, seen: int) -> Heard:
    """Wait for lines after the first `seen`, or for the end, for some seconds. TransportError when no answer comes."""
    script = _FOLLOW.format(
        unit=shlex.quote(f"{unit}.service"),
        base=f"{FOLDER}/{unit}",
        mark=_MARK,
        seen=seen,
        after=seen + 1,
        turns=2 * _LONGEST,
    )
    _, out, err = shell(script)
    *lines, last = clean(out).strip().splitlines() or [""]
    words = last.split(" ")
    if words[0] != _MARK or len(words) < 2 or not words[1].isdigit():
        raise TransportError(f"{unit}: the host does not say how far it is: {clean(err or last)[:200]}", "run it again")
    status = words[2] if len(words) > 2 else ""
    told = tuple(line.rstrip() for line in lines if line.strip())
    return Heard(told, int(words[1]), (int(status) if status.isdigit() else -1) if status else None)
