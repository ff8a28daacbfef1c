"""How jobs ended, and how fast their collectives were."""

import re
from collections.abc import Sequence

from qops.evidence.engine import JobResult, JobResults
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Probe

_STATUS = lazy(
    r"^\s*(?:\[rc=(-?[0-9]{1,5})\]|[Ee]xit(?:ed)? (?:code|status)(?: is| was)?\s*[:=]?\s*(-?[0-9]{1,5})"
    r"|[\w.\-]{1,80} exited with code (-?[0-9]{1,5}))\s*$"
)
_ECHO = lazy(r"\becho\s+\"?\$\?\"?\s*$")
_BARE = lazy(r"^\s*(-?[0-9]{1,3})\s*$")
_MEASURED = lazy(
    r"^\s*(all_?reduce|all_?gather|reduce_?scatter|broadcast|all_?to_?all|send_?recv|reduce)\s+"
    r"([0-9.]{1,12} ?[KMGT]?i?B)\s+"
    r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ms\s+algbw\s+([0-9]{1,9}(?:\.[0-9]{1,6})?) GB/s",
    re.IGNORECASE,
)
# nccl-tests, src/common.cu: size count type [redop] [root] then time(us) algbw busbw #wrong, twice.
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,4})?)"
_ROW = lazy(
    r"^\s*([0-9]{1,15})\s+[0-9]{1,15}\s+(?:u?int(?:8|32|64)?|half|float|double|bfloat16|f8e4m3|f8e5m2|fp8_\w{4})\s+"
    r"(?:\w{1,10}\s+)?"
    rf"(?:-?[0-9]{{1,4}}\s+)?{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+(?:[0-9.e+-]{{1,10}}|N/A)\b"
)
_TEST = lazy(r"\b(\w{3,30})_perf\b")
_SIGN = lazy(r"rc=|xit|algbw|_perf|bus bandwidth")
_DIGITS = frozenset("-0123456789")
_AVERAGE = lazy(r"#\s*Avg bus bandwidth\s*:\s*([0-9]{1,9}(?:\.[0-9]{1,6})?)")


def _result(text: Text) -> JobResult | None:
    status: int | None = None
    last: Quote | None = None
    measured: list[tuple[str, float, float, Quote]] = []
    test = "collective"
    for index, line in enumerate(text.lines):
        if len(line) > 2000 or not (_SIGN.search(line) or line.lstrip()[:1] in _DIGITS):
            continue
        if match := _STATUS.match(line):
            status, last = int(match[1] or match[2] or match[3]), text.quote(index)
        elif index and (match := _BARE.match(line)) and _ECHO.search(text.lines[index - 1][:2000]):
            status, last = int(match[1]), text.quote(index)
        elif match := _MEASURED.match(line):
            measured.append((f"{match[1]} {match[2]}", float(match[3]), float(match[4]), text.quote(index)))
        elif match := _ROW.match(line):
            measured.append((f"{test} {match[1]} B", float(match[2]) / 1000, float(match[3]), text.quote(index)))
        elif match := _AVERAGE.search(line):
            measured.append((f"{test} average bus bandwidth", 0.0, float(match[1]), text.quote(index)))
        elif match := _TEST.search(line):
            test = match[1]
    quote = last or (measured[0][3] if measured else None)
    return JobResult(quote, status, tuple(measured[:1000])) if quote else None


def recognise(text: Text) -> bool:
    """Return whether `text` says how a job ended, or what it measured."""
    return _result(text) is not None


def parse(texts: Sequence[Text]) -> JobResults | None:
    """Return one result for each text that has any; the last exit status of a text counts."""
    found = tuple(r for r in map(_result, texts) if r is not None)
    return JobResults(found) if found else None


PROBE = Probe(
    name="job_results",
    makes=JobResults,
    parse=parse,
    recognise=recognise,
    literals=("[rc=", "exit code", "exit status", "exited with code", "algbw", "avg bus bandwidth"),
)
