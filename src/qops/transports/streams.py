"""What comes back through a channel: two streams, up to a limit, from the mark that says that the answer begins."""

import time
from typing import Any

from qops.transports.base import Completed

OUTPUT = 64 << 20  # bytes of standard output (or of a file) that are kept
ERRORS = 1 << 20  # bytes of standard error that are kept
NOISE = 1 << 16  # bytes that a login shell may say before it does what it is asked
_CHUNK = 1 << 18
_PATIENCE = 0.5  # seconds between two looks at whether the time is over


class Streams:
    """The two streams of a channel, as far as they are kept, without what the login shell says before `mark`.

    With `prompt`, by which sudo asks for a password on standard error, that stream has the mark too.
    """

    def __init__(self, mark: str, prompt: str = "") -> None:
        self.mark = mark.encode()
        self.begun = False
        self.asked = 0  # times that the prompt was seen before it began
        self._prompt = prompt.encode()
        self.stdout, self.stderr = bytearray(), bytearray()
        self.discarded = 0

    def take(self, channel: Any) -> bool:
        """Take what has arrived; return whether there was anything."""
        some = False
        if channel.recv_ready():
            some = self._keep(self.stdout, channel.recv(_CHUNK), OUTPUT)
            if not self.begun and (at := self.stdout.find(self.mark + b"\n", 0, NOISE)) >= 0:
                del self.stdout[: at + len(self.mark) + 1]
                self.begun = True
        if channel.recv_stderr_ready():
            some = self._keep(self.stderr, channel.recv_stderr(_CHUNK), ERRORS) or some
            if self._prompt and (at := self.stderr.find(self.mark + b"\n", 0, NOISE)) >= 0:
                del self.stderr[: at + len(self.mark) + 1]
                self._prompt = b""
            elif self._prompt:
                self.asked = self.stderr.count(self._prompt, 0, NOISE)
        return some

    def _keep(self, kept: bytearray, chunk: bytes, limit: int) -> bool:
        room = max(0, limit - len(kept))
        kept += chunk[:room]
        self.discarded += max(0, len(chunk) - room)
        return bool(chunk)

    def completed(self, status: int | None, seconds: float, failure: str = "") -> Completed:
        """Return the outcome with what was kept. `seconds` since the command was asked for."""
        return Completed(bytes(self.stdout), bytes(self.stderr), status, seconds, failure, self.discarded)


def received(channel: Any, until: float) -> bytes:
    """Return the next bytes of a channel's standard output; none when there are no more, or the time is over."""
    channel.settimeout(_PATIENCE)
    while time.monotonic() < until:
        try:
            return bytes(channel.recv(_CHUNK))
        except TimeoutError:
            continue
    return b""
