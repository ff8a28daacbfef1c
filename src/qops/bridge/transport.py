"""The host behind an Ansible connection: questions put one by one, or many in one round trip."""

import re
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from qops.probes.base import Ask, Command
from qops.transports.answer import failure
from qops.transports.base import Completed

Shell = Callable[[str], tuple[int, str, str]]
"""Runs a shell script on the host; gives the exit status, standard output and standard error."""

LARGEST = 64 << 20  # bytes of a file that are read
READ = 10.0  # seconds for one file

# QOPS_ROOT, where a practice host sets it, shows another machine's files in place of the host's own.
_READ = f"""\
p=$1
case "$p" in /sys/*|/proc/*|/dev/*) [ -n "${{QOPS_ROOT:-}}" ] && [ -e "$QOPS_ROOT$p" ] && p=$QOPS_ROOT$p ;; esac
if [ -e "$p" ] && [ ! -f "$p" ]; then echo 'not a regular file' >&2; exit 1; fi
exec head -c {LARGEST} -- "$p"
"""
_TIMED_OUT = (124, 137)  # what timeout(1) gives when the time is over, and when it had to kill
# A mark before and after each answer, on both streams, tells them apart.
_BATCH = """\
begun=$(date +%s)
ask() {{
  number=$1; limit=$2; shift 2
  now=$(date +%s)
  [ $((now - begun)) -lt {seconds} ] || return
  printf '\\n{mark} %s\\n' "$number"; printf '\\n{mark} %s\\n' "$number" >&2
  LC_ALL=C timeout -k 1 "$limit" "$@" </dev/null
  status=$?
  printf '\\n{mark} %s %s %s\\n' "$number" "$status" "$(($(date +%s) - now))"; printf '\\n{mark}\\n' >&2
}}
{questions}
"""


def _argv(ask: Ask) -> tuple[str, ...]:
    return ask.argv if isinstance(ask, Command) else ("sh", "-c", _READ, "read", ask.path)


class AnsibleTransport:
    """The host behind an Ansible connection, which takes one command at a time."""

    def __init__(self, name: str, shell: Shell) -> None:
        self.name = name
        self._shell = shell
        self._turn = threading.Lock()
        self._stopped = False

    def run(self, argv: tuple[str, ...], *, timeout: float) -> Completed:
        """Run `argv` under timeout(1), so that nothing stays behind on the host."""
        with self._turn:
            begun = time.monotonic()
            if self._stopped:
                return Completed(b"", b"", None, 0.0, "timeout")
            command = f"LC_ALL=C timeout -k 1 {max(1, round(timeout))} {shlex.join(argv)} </dev/null"
            status, out, err = self._shell(command)
        seconds = time.monotonic() - begun
        stdout, stderr = (text.encode("utf-8", "surrogateescape") for text in (out, err))
        if status in _TIMED_OUT and seconds >= timeout * 0.9:
            return Completed(stdout, stderr, None, seconds, "timeout")
        return Completed(stdout, stderr, status, seconds)

    def read(self, path: str, *, timeout: float) -> Completed:
        """Read a file."""
        done = self.run(("sh", "-c", _READ, "read", path), timeout=timeout)
        return replace(done, failure=failure(done.stderr)) if done.status and not done.failure else done

    def stop(self) -> None:
        """Ask nothing more; what runs ends by its own timeout."""
        self._stopped = True

    def batch(self, asks: Sequence[Ask], *, seconds: float) -> tuple[Completed, ...]:
        """Put all `asks` in one round trip, one after the other, each under its own time limit.

        None is begun once `seconds` have passed. What did not answer is a time-out, whatever came before it.
        """
        mark = f"qops-{secrets.token_hex(8)}"
        questions = (
            f"ask {n} {max(1, round(ask.timeout if isinstance(ask, Command) else READ))} {shlex.join(_argv(ask))}"
            for n, ask in enumerate(asks)
        )
        script = _BATCH.format(mark=mark, seconds=max(1, round(seconds)), questions="\n".join(questions))
        begun = time.monotonic()
        status, out, err = self._shell(script)
        took = time.monotonic() - begun
        stdout, stderr = (text.encode("utf-8", "surrogateescape") for text in (out, err))
        answers = _framed(stdout, stderr, mark.encode())
        lost = Completed(b"", stderr if status and not answers else b"", None, took, "timeout")
        return tuple(self._judged(ask, answers.get(n, lost)) for n, ask in enumerate(asks))

    @staticmethod
    def _judged(ask: Ask, done: Completed) -> Completed:
        limit = ask.timeout if isinstance(ask, Command) else READ
        if done.status in _TIMED_OUT and done.seconds >= limit * 0.9:
            return replace(done, status=None, failure="timeout")
        if not isinstance(ask, Command) and done.status and not done.failure:
            return replace(done, failure=failure(done.stderr))
        return done


def _framed(stdout: bytes, stderr: bytes, mark: bytes) -> dict[int, Completed]:
    """Return the answers that came back whole, by number."""
    frame = re.compile(rb"\n" + mark + rb" ([0-9]+)\n(.*?)\n" + mark + rb" ([0-9]+) ([0-9]+) ([0-9]+)\n", re.DOTALL)
    errors = re.compile(rb"\n" + mark + rb" ([0-9]+)\n(.*?)\n" + mark + rb"\n", re.DOTALL)
    said = {int(found[1]): found[2] for found in errors.finditer(stderr)}
    return {
        int(found[1]): Completed(found[2], said.get(int(found[1]), b""), int(found[4]), float(found[5]))
        for found in frame.finditer(stdout)
    }
