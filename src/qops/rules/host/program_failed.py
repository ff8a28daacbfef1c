"""HST906: a program ended with an error. Its last words seldom say why."""

from collections.abc import Iterator

from qops.data.messages import engine, system
from qops.evidence.message import Hit, Logs, quotes
from qops.rule import Confidence, Fix, Found, Role, rule


@rule(
    "HST906",
    "program-failed",
    role=Role.SYMPTOM,
    fix=(
        Fix("read the first error of the first process that failed, not the last", commands=("journalctl -b -p err",)),
    ),
)
def program_failed(logs: Logs) -> Iterator[Found]:
    """A program ended with an error, and nothing that was seen says why."""
    # An engine that serves after it caught an error, or that was told to stop before, did not fail of it.
    ready, ended = logs.find(engine.READY), logs.find(engine.SHUTDOWN)
    hits = [
        h
        for h in logs.find(system.PROGRAM_FAILED)
        if not any(_before(h, r) for r in ready) and not any(_before(e, h) for e in ended)
    ]
    if hits:
        yield Found("program", "a program ended with an error", quotes(hits, 2), Confidence.CERTAIN)


def _before(a: Hit, b: Hit) -> bool:
    return a.quote.source == b.quote.source and a.quote.line < b.quote.line
