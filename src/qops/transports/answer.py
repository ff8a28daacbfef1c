"""The raw answer to one question, and what becomes of it: clean text for the probes, or a gap."""

from collections.abc import Iterable

from msgspec import Struct

from qops.evidence.clock import HostClock
from qops.evidence.text import Gap, Text
from qops.transports.base import Completed, lines
from qops.transports.reduce import LARGE, Find, reduce

_MISSING = (b"no such file or directory", b"not found", b"no such device")
_DENIED = (b"permission denied", b"operation not permitted", b"must be root")


class Answer(Struct, frozen=True):
    """What one question gave, as bytes. `path` is set for a file that was read, `argv` for a command that was run."""

    source: str
    completed: Completed
    argv: tuple[str, ...] = ()
    path: str = ""
    probe: str = ""
    at: float | None = None  # seconds since the collection began, for answers sampled over time
    binary: bool = False
    number: int = 0  # its place among the answers of a collection


class Collection(Struct, frozen=True):
    """All that one host (or one pile of loose files) answered. `host` and `collected_at` are "" when unknown."""

    texts: tuple[Text, ...]
    gaps: tuple[Gap, ...]
    host: str = ""
    collected_at: str = ""  # ISO 8601 in UTC
    interrupted: bool = False
    clock: HostClock | None = None  # the host's, beside that of the machine that asked it by SSH


def failure(stderr: bytes) -> str:
    """Return the kind of failure that an error message tells of: "missing", "denied" or "failed"."""
    lowered = stderr.lower()
    if any(words in lowered for words in _DENIED):
        return "denied"
    return "missing" if any(words in lowered for words in _MISSING) else "failed"


def interpret(answer: Answer, find: Find) -> tuple[Text | None, Gap | None]:
    """Return the text of `answer`, or the gap that it is, or both when a part of it was lost.

    A command that failed but said something on its standard output has answered; its errors follow as lines.
    What a command printed before it ran out of time is half an answer, and so none.
    """
    done = answer.completed
    if done.failure:
        return None, _gap(answer, done.failure)
    failed = bool(done.status)
    if failed and not done.stdout.strip() and done.stderr.strip():
        return None, _gap(answer, "missing" if done.status == 127 else failure(done.stderr))
    cut = _gap(answer, "unreadable") if done.discarded else None
    if answer.binary:
        return Text(answer.source, (), probe=answer.probe, status=done.status, at=answer.at, data=done.stdout), cut
    errors = lines(done.stderr) if failed else ()
    if len(done.stdout) > LARGE:
        less = reduce([done.stdout], find)
        after = (less.numbers[-1] if less.numbers else 0) + 1
        text = Text(
            answer.source,
            less.lines + errors,
            less.numbers + tuple(range(after, after + len(errors))),
            probe=answer.probe,
            status=done.status,
            at=answer.at,
            size=less.size,
            last_line=less.last_line,
        )
    else:
        text = Text(answer.source, lines(done.stdout) + errors, probe=answer.probe, status=done.status, at=answer.at)
    return text, cut


def _gap(answer: Answer, kind: str) -> Gap:
    done = answer.completed
    said = lines(done.stderr.strip())
    if kind == "timeout":
        reason = f"no answer within {done.seconds:.0f} s"
    elif kind == "unreadable":
        reason = f"{done.discarded} more bytes of output were not kept"
    else:
        reason = said[-1].strip()[:300] if said else {"missing": "not there", "denied": "not permitted"}.get(kind, kind)
    return Gap(answer.source, reason, kind, answer.probe)


def collection(
    found: Iterable[tuple[Text | None, Gap | None]],
    *,
    host: str,
    collected_at: str,
    interrupted: bool = False,
    clock: HostClock | None = None,
) -> Collection:
    """Make the collection of what `interpret` made of the answers, in their order."""
    texts: list[Text] = []
    gaps: list[Gap] = []
    for text, gap in found:
        if text is not None:
            texts.append(text)
        if gap is not None:
            gaps.append(gap)
    return Collection(tuple(texts), tuple(gaps), host, collected_at, interrupted, clock)
