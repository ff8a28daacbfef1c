"""What to say of a name that a release does not know, or would rather not."""

import difflib
from collections.abc import Iterable

from qops.flags.accepted import Accepted
from qops.flags.heirs import OPTIONS
from qops.flags.remark import Kind, Remark, Severity

LEAVE_OUT = "leave it out"
_NEAR = 0.75  # of difflib; below it, names that have nothing to do with each other turn up


def nearest(text: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the one of `known` that `text` was probably meant to be; empty when none is near."""
    names = list(known)
    close = difflib.get_close_matches(text, names, n=1, cutoff=cutoff)
    return next(iter([*close, *(one for one in names if text and text in one)]), "")


def unknown(accepted: Accepted, written: str, line: int) -> Remark:
    """Return the remark for an option that the release's parser does not know: it exits with 2."""
    dashed = written.replace("_", "-")
    states = accepted.ever(written) or accepted.ever(dashed)
    if left := accepted.left(states):
        before, last, first = left
        heir = before.instead or OPTIONS.get((accepted.engine.engine, dashed), "")
        kind = Kind.RENAMED if heir.startswith("-") else Kind.REMOVED
        text = f"{accepted.title} does not know it: {last} was the last release with it, {first} the first without"
        return Remark(kind, Severity.ERROR, written, text, heir or LEAVE_OUT, line=line)
    if states and (since := accepted.comes(states)):
        text = f"{accepted.title} does not know it yet: it comes with {since}"
        return Remark(Kind.TOO_NEW, Severity.ERROR, written, text, f"{LEAVE_OUT}, or use {since}", line=line)
    if dashed in accepted.names:  # SGLang's parser takes only dashes
        text = f"{accepted.title} does not know it with underscores"
        return Remark(Kind.UNKNOWN, Severity.ERROR, written, text, dashed, line=line)
    near = difflib.get_close_matches(dashed, accepted.names, n=2, cutoff=_NEAR)
    text = f"{accepted.title} does not know it, nor does any release from {accepted.engine.versions[0]} on"
    return Remark(Kind.UNKNOWN, Severity.ERROR, written, text, " or ".join(near) or LEAVE_OUT, line=line)
