"""The host behind an Ansible connection: asked all at once, or one by one where it lacks what that needs."""

import secrets
import shlex
import threading
import time
from collections.abc import Callable, Sequence

from qops.errors import TransportError
from qops.evidence.clock import HostClock
from qops.transports.base import Completed, clean
from qops.transports.batch import Frames, Take
from qops.transports.batch_script import TIMED_OUT, Put, script
from qops.transports.far import outcome, reading
from qops.transports.streams import OUTPUT

Shell = Callable[[str], tuple[int, str, str]]
"""Runs a shell script on the host; gives the exit status, standard output and standard error."""


class AnsibleTransport:
    """The host behind an Ansible connection, which takes one command at a time."""

    def __init__(self, name: str, shell: Shell) -> None:
        self.name = name
        self.clock: HostClock | None = None  # Ansible does not tell when it sent what
        self._shell = shell
        self._turn = threading.Lock()
        self._stopped = False

    def batch(self, puts: Sequence[Put], *, seconds: float, take: Take) -> bool:
        """Put all of `puts` in one round trip. See Batching. TransportError when no shell answers."""
        mark = secrets.token_hex(8)
        frames = Frames(puts, mark)
        status, out, err = self._shell(script(puts, mark, seconds, held=False))
        for number, at, done in frames.take(out.encode("utf-8", "surrogateescape")):
            take(number, at, done)
        if not frames.begun and not frames.refused:
            said = clean(err or out).strip().splitlines() or [f"status {status}"]
            raise TransportError(f"{self.name}: no POSIX shell answers: {said[-1][:200]}", "ansible -m raw -a id HOST")
        return not frames.refused

    def run(self, argv: tuple[str, ...], *, timeout: float) -> Completed:
        """Run `argv` under timeout(1), so that nothing stays behind on the host."""
        with self._turn:
            begun = time.monotonic()
            if self._stopped:
                return Completed(b"", b"", None, 0.0, "timeout")
            command = f"LC_ALL=C.UTF-8 timeout -k 1 {max(1, round(timeout))} {shlex.join(argv)} </dev/null"
            status, out, err = self._shell(command)
        seconds = time.monotonic() - begun
        stdout, stderr = (text.encode("utf-8", "surrogateescape") for text in (out, err))
        if status in TIMED_OUT and seconds >= timeout * 0.9:
            return Completed(stdout, stderr, None, seconds, "timeout")
        return Completed(stdout, stderr, status, seconds)

    def read(self, path: str, *, timeout: float) -> Completed:
        """Read the first 64 MiB of a file."""
        return outcome(self.run(reading(path, OUTPUT), timeout=timeout), OUTPUT)

    def stop(self) -> None:
        """Ask nothing more; what runs ends by its own timeout."""
        self._stopped = True
