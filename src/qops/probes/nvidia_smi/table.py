"""The plain table of `nvidia-smi`, drivers 418 to 610, whole or a few rows of it."""

import re

from qops.evidence.gpu import GpuProcess
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.nvidia_smi.fields import of_host
from qops.probes.nvidia_smi.quantity import bus, number, size, whole, yes
from qops.probes.nvidia_smi.reading import Answer, Reading
from qops.probes.prefix import strip

_WIDEST = 200  # characters; the table is 91 wide

_HEAD = lazy(r"NVIDIA-SMI +[0-9][\w.]*")
# 580 prints "Driver Version", 610 prints "KMD Version" and "CUDA UMD Version".
_VERSION = lazy(r"((?:Driver|KMD|CUDA|CUDA UMD) Version): *([0-9.]{1,20})")
_FIRST = lazy(
    r"[|#\s]*([0-9]{1,3}) +(\S.{0,40}?) +(On|Off|N/A|TCC|WDDM|MCDM) *\| *"
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]) +(?:On|Off|N/A) *\| *(\S+)",
    re.ASCII,
)
_SECOND = lazy(
    r"[|#\s]*(?:N/A|ERR!|[0-9]{1,3} ?%|Unknown) +(N/A|ERR!|[0-9]{1,3} ?C) +(P[0-9]{1,2}|N/A|ERR!|Unknown) +"
    r"(\S{1,12}) */ *(\S{1,12}) *\|([^|]{1,60})\|\s*([0-9]{1,3} ?%|N/A|ERR!)",
    re.ASCII,
)
_PROCESSES = lazy(r"\| +Processes: +")
_NONE = lazy(r"\| +No running processes found")
_PROCESS = lazy(
    r"[|#\s]*([0-9]{1,3}) +(?:(?:N/A|[0-9]{1,3}) +(?:N/A|[0-9]{1,3}) +)?([0-9]{1,10}) +([CGM](?:\+[CGM])?) +"
    r"(\S[^|]{0,120}?)(?: +([0-9]{1,8}MiB|N/A))? *\|",
    re.ASCII,
)
_PLAIN_ID = lazy(r"GPU ([0-9]{1,3}): ([^()]{1,100}?) \(UUID: (GPU-[^)]{0,60})\)", re.ASCII)
CLUE = lazy(
    r"NVIDIA-SMI +[0-9]|\(UUID: GPU-|Processes: +|No running processes found|"
    r"(?:^|[|#])\s*(?:[0-9]{1,3} |[0-9]{1,3} ?%|N/A|ERR!|Unknown).*\|",
    re.ASCII,
)


def parse(text: Text) -> list[Answer]:
    """Return what each table in `text` says."""
    answers = [Answer()]
    for index, raw in enumerate(text.lines):
        line = strip(raw)[:_WIDEST].rstrip() if "|" in raw else ""
        if "|" not in line:
            continue
        if _HEAD.search(line):
            answers.append(Answer(quote=text.quote(index)))
            for name, value in _VERSION.findall(line):
                of_host(answers[-1], name.lower().replace(" ", "_"), value)
            continue
        _row(answers[-1], text, index, line)
    return [answer for answer in answers if answer.telling]


def _row(answer: Answer, text: Text, index: int, line: str) -> None:
    first = _FIRST.match(line)
    if first:
        reading = Reading(text.quote(index), int(first[1]))
        if not first[2].endswith("..."):  # older tables cut long names
            reading.say("name", first[2])
        reading.say("persistence", yes(first[3]))
        reading.say("bus_id", bus(first[4]))
        reading.say("ecc_uncorrected", whole(first[5]))
        answer.readings.append(reading)
        return
    second = _SECOND.match(line)
    if second:
        last = answer.readings[-1] if answer.readings else None
        if last is None or "pstate" in last.values or "utilization" in last.values:
            last = Reading(text.quote(index))  # a row whose first half was not pasted
            answer.readings.append(last)
        _state(last, second)
        return
    if _PROCESSES.match(line) or _NONE.match(line):
        answer.processes = answer.processes or []
        return
    process = _PROCESS.match(line)
    if process:
        memory = size(process[5] or "")
        answer.process(GpuProcess(int(process[2]), process[1], process[4], memory, text.quote(index)))


def _state(reading: Reading, row: re.Match[str]) -> None:
    reading.say("temperature", whole(row[1]))
    reading.say("pstate", row[2] if row[2].startswith("P") else None)
    reading.say("power", number(row[3]))
    reading.say("power_limit", number(row[4]))
    used, slash, total = row[5].partition("/")
    if slash:  # "Not Supported" on boards whose memory is the host's
        reading.say("memory_used", size(used))
        reading.say("memory_total", size(total))
    reading.say("utilization", whole(row[6]))


def listing(text: Text) -> Answer:
    """Return the GPUs that `nvidia-smi -L` lists."""
    answer = Answer()
    for index, line in enumerate(text.lines):
        found = _PLAIN_ID.search(line[:_WIDEST]) if "(UUID: GPU-" in line else None
        if found:
            reading = Reading(text.quote(index), int(found[1]))
            reading.say("name", found[2])
            reading.say("uuid", found[3])
            answer.readings.append(reading)
    return answer
