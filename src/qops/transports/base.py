"""The transport protocol, and the border where host output becomes clean text."""

from typing import Protocol

from msgspec import Struct

from qops.pattern import lazy

# ECMA-48 control sequences (CSI … final byte), operating system commands (OSC … BEL or ST) and two-byte escapes.
# None of them may reach over the end of a line: line numbers must stay those of the original.
_ESCAPES = lazy(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[PX^_][^\x1b\n]*\x1b\\|[@-Z\\-_])")
_CONTROLS = lazy(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Completed(Struct, frozen=True):
    """The outcome of one command. `seconds` is how long it took."""

    stdout: bytes
    stderr: bytes
    status: int | None  # None: it did not end
    seconds: float
    failure: str = ""  # "" | "timeout" | "missing" | "denied" | "failed" | "cut" (we left before its time was over)
    # | "past" (not asked: an earlier answer of its series left nothing to follow)
    discarded: int = 0  # bytes of output beyond what is kept


class Transport(Protocol):
    """A host that can be asked. It never raises for what a host answers, only when it cannot be reached."""

    name: str

    def run(self, argv: tuple[str, ...], *, timeout: float) -> Completed:
        """Run a command and wait for it at most `timeout` seconds."""
        ...

    def read(self, path: str, *, timeout: float) -> Completed:
        """Read a file; its bytes are `stdout`."""
        ...

    def stop(self) -> None:
        """End whatever still runs on the host for this transport."""
        ...


def decode(data: bytes) -> str:
    """Decode what a program or an editor wrote; never fails."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")


def clean(text: str) -> str:
    """Remove escape sequences and control characters: host text can then neither hide nor command anything."""
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", " "))


def lines(data: bytes) -> tuple[str, ...]:
    """Return the clean lines of `data`; line n of the original is at index n - 1."""
    text = clean(decode(data))
    return tuple(text.removesuffix("\n").split("\n")) if text else ()
