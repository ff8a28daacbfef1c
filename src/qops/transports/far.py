"""What a host is asked to do: scripts for any POSIX shell, run as they stand on the far side."""

import re
import shlex
from dataclasses import dataclass

from msgspec.structs import replace

from qops.transports.answer import failure
from qops.transports.base import Completed

# Input that ends means that nobody wants the answer any more (time-out, Ctrl-C, a connection that was cut): then the
# command is killed, with its process group when something there can make one. As much as possible is told to the
# host itself, since a command without a terminal outlives its connection.
_SUPERVISED = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin LC_ALL=C.UTF-8; export PATH LC_ALL; unset LANGUAGE; cd /
exec 3<&0 </dev/null
{limit} {command} 3<&- &
p=$!
{{ cat <&3; kill -TERM -$p || kill -TERM $p; sleep 1; kill -KILL -$p || kill -KILL $p; }} >/dev/null 2>&1 &
w=$!
exec 3<&-
wait $p
s=$?
kill $w 2>/dev/null
exit $s"""

_READ = """f={path}
case $f in /sys/*|/proc/*|/dev/*) [ -e "${{QOPS_ROOT:-}}$f" ] && f=${{QOPS_ROOT:-}}$f ;; esac
if [ -d "$f" ]; then echo 'a folder' >&2; exit 1; fi
if [ -e "$f" ] && [ ! -f "$f" ]; then echo 'not a regular file' >&2; exit 1; fi
head -c {most} -- "$f" || exit
n=$(wc -c <"$f") && [ "$n" -gt {most} ] && echo "size $n" >&2
exit 0"""

HELLO = """limit=
if timeout -k 1 9 true 2>/dev/null; then limit='timeout -k 1'
elif setsid true 2>/dev/null; then limit=setsid
fi
echo "qops $(id -u) $limit\""""
_ANSWER = re.compile(rb"^qops ([0-9]{1,10}) (|timeout -k 1|setsid)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Far:
    """What a host can do. `limit` is the command that puts another in a process group, and may limit its time."""

    uid: int
    limit: str


def greeted(answer: bytes) -> Far | None:
    """Return what the answer to `HELLO` says, or None when no POSIX shell gave it."""
    found = _ANSWER.search(answer)
    return Far(int(found[1]), found[2].decode()) if found else None


def supervised(argv: tuple[str, ...], far: Far, seconds: int) -> str:
    """Return the script that runs `argv` for at most `seconds`, and no longer than its input is open."""
    limit = f"{far.limit} {seconds}" if far.limit.startswith("timeout") else far.limit
    return _SUPERVISED.format(limit=limit, command=shlex.join(argv))


def reading(path: str, most: int) -> tuple[str, ...]:
    """Return the command that prints the first `most` bytes of a file; of a larger one, its size on stderr."""
    return ("sh", "-c", _READ.format(path=shlex.quote(path), most=most))


def outcome(done: Completed, most: int) -> Completed:
    """Return what `reading` gave as the outcome of reading a file: why it failed, and what was not kept of it."""
    if done.failure:
        return done
    if done.status:
        return replace(done, failure=failure(done.stderr), status=None)
    size = done.stderr.strip().removeprefix(b"size ") if len(done.stdout) == most else b""
    over = int(size) - most if size.isdigit() and len(size) < 20 else 0
    return replace(done, stderr=b"", discarded=done.discarded + max(0, over))


def login(script: str, *, become: bool, prompt: str = "") -> str:
    """Return the line for the login shell, whichever that is, that gives `script` to a POSIX shell, or to root's.

    With `prompt` sudo asks for a password by it, on standard error, and reads it from standard input.
    """
    line = f"/bin/sh -c {shlex.quote(script)}"
    if not become:
        return f"exec {line}"
    sudo = f"sudo -S -p {shlex.quote(prompt)}" if prompt else "sudo -n"
    again = f'[ "$(id -u)" = 0 ] && exec {line}\nexec {sudo} -- env ${{QOPS_ROOT:+QOPS_ROOT="$QOPS_ROOT"}} {line}'
    return f"exec /bin/sh -c {shlex.quote(again)}"
