"""The GPUs over time: CSV with time stamps, dmon, answers sampled by the collection, and readings in prose."""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from qops.evidence.gpu import GpuSample, GpuSamples
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes import gpus
from qops.probes.base import Command, Probe
from qops.probes.nvidia_smi import dmon, query_csv
from qops.probes.nvidia_smi.quantity import number, size, whole, word
from qops.probes.nvidia_smi.reading import UNKNOWN, Reading
from qops.probes.nvidia_smi.stamp import seconds
from qops.probes.prefix import LONGEST, strip

_STAMPED = lazy(r"([0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{1,6}), *(\S.*)", re.ASCII)
# The columns of a series without header: timestamp,index,utilization.gpu,utilization.memory,power.draw,memory.used,
# clocks.sm,pstate.
_COLUMNS = 7  # after the time stamp
_FIELDS = ("utilization", "memory_utilization", "power", "memory_used", "sm_clock", "pstate")

_ABOUT = r"\s*[:=]?\s*(?:~|≈|about|approx(?:imately|\.)?|around|at)?\s*"
_PROSE = {
    "utilization": lazy(rf"\bGPU[- ]?util(?:i[sz]ation)?\b{_ABOUT}([0-9]{{1,3}}) ?%", re.IGNORECASE | re.ASCII),
    "memory_utilization": lazy(
        rf"\bmem(?:ory)?[- ]?util(?:i[sz]ation)?\b{_ABOUT}([0-9]{{1,3}}) ?%", re.IGNORECASE | re.ASCII
    ),
    "power": lazy(
        rf"\bpower(?: draw| usage)?\b{_ABOUT}([0-9]{{1,4}}(?:\.[0-9]{{1,2}})?) ?W\b", re.IGNORECASE | re.ASCII
    ),
    "memory_used": lazy(
        rf"\bmemory(?: used| usage)?\b{_ABOUT}([0-9]{{1,7}}(?:\.[0-9]{{1,2}})? ?[MG]i?B)\b", re.IGNORECASE | re.ASCII
    ),
}
_PCIE = lazy(r"\bPCIe\s+RX\s+([0-9]{1,7})\b[^0-9]{1,12}?TX\s+([0-9]{1,7})\b", re.IGNORECASE | re.ASCII)
_LONGEST_PROSE = 300  # characters


def parse(texts: Sequence[Text]) -> GpuSamples | None:
    """Return every reading in order of time.

    Series that say the time of day share one clock; one without follows the others, a second after them, and its
    quotes tell it apart. A single `nvidia-smi` or a sentence is taken only when there is no series.
    """
    timed: list[GpuSample] = []
    series: list[list[GpuSample]] = []
    for text in texts:
        for found, absolute in _series(text):
            if absolute:
                timed += found
            elif found:
                series.append(found)
    moments = _moments(texts)
    if moments:
        series.append(moments)
    if timed:
        series.insert(0, sorted(timed, key=lambda s: s.at))
    if not series:
        singles = {s.index: s for t in reversed(texts) for s in reversed(_prose(t) or _snapshot(t))}
        series = [sorted(singles.values(), key=lambda s: s.index)] if singles else []
    samples: list[GpuSample] = []
    for one in series:
        start = samples[-1].at + 1 if samples else 0.0
        samples += [replace(s, at=round(start + s.at - one[0].at, 3)) for s in one]
    return GpuSamples(tuple(samples)) if samples else None


def _series(text: Text) -> Iterator[tuple[list[GpuSample], bool]]:
    """Yield (readings, whether their times are of a common clock) for each series in `text`."""
    if text.probe == gpus.PROBE.name:  # each of its answers is of one moment
        return
    stamped = [r for r in _stamped(text) if r.at is not None]
    if stamped:
        yield [_sample(r, r.at or 0.0) for r in stamped], True
    for readings, absolute in dmon.parse(text):
        yield [_sample(r, r.at or 0.0) for r in readings], absolute


def _stamped(text: Text) -> list[Reading]:
    asked = "--query-gpu" in text.source or query_csv.recognise(text)
    found = query_csv.parse(text).readings if asked else []
    found = [r for r in found if r.at is not None]
    if found:
        return found
    for index, raw in enumerate(text.lines):
        row = _STAMPED.fullmatch(strip(raw).strip()) if "/" in raw else None
        if not row:
            continue
        cells = [cell.strip() for cell in row[2].split(",", 20)]
        gpu = whole(cells[0]) if cells[0].isdecimal() else None
        if len(cells) != _COLUMNS or gpu is None or gpu > 1000:
            continue
        reading = Reading(text.quote(index), gpu, at=seconds(row[1]))
        convert = (whole, whole, number, size, whole, word)
        for name, cell, converter in zip(_FIELDS, cells[1:], convert, strict=True):
            reading.say(name, converter(cell))
        found.append(reading)
    return found


def _moments(texts: Sequence[Text]) -> list[GpuSample]:
    """Return the readings of answers that the collection asked for more than once."""
    at = sorted({t.at for t in texts if t.at is not None})
    if len(at) < 2:
        return []
    found = [
        _sample(reading, text.at)
        for text in texts
        if text.at is not None and not any(True for _ in _series(text))
        for reading in _readings(text)
    ]
    return sorted(found, key=lambda s: s.at)


def _readings(text: Text) -> list[Reading]:
    if not (text.probe or gpus.recognise(text)):
        return []
    answers, _ = gpus.answers(text)
    told = {"utilization", "power"}
    return [r for answer in answers for r in answer.readings if told & r.values.keys()]


def _snapshot(text: Text) -> list[GpuSample]:
    return [_sample(reading, 0.0) for reading in _readings(text)]


def _sample(reading: Reading, at: float) -> GpuSample:
    values = {name: reading.values[name] for name in _FIELDS if name in reading.values}
    received, sent = reading.values.get("rx"), reading.values.get("tx")
    return GpuSample(at=at, index=reading.index, quote=reading.quote, pcie_rx=received, pcie_tx=sent, **values)


def _prose(text: Text) -> list[GpuSample]:
    """Return one reading of an unnamed GPU when people describe it in words."""
    values: dict[str, float | int | None] = {}
    quote: Quote | None = None
    for index, line in enumerate(text.lines):
        if len(line) > _LONGEST_PROSE:
            continue
        for name, pattern in _PROSE.items():
            found = pattern.search(line) if name not in values else None
            if found:
                convert = size if name == "memory_used" else number if name == "power" else whole
                values[name] = convert(found[1])
                quote = quote or text.quote(index)
        pcie = _PCIE.search(line) if "pcie_rx" not in values else None
        if pcie:
            values["pcie_rx"], values["pcie_tx"] = int(pcie[1]), int(pcie[2])
            quote = quote or text.quote(index)
    if quote is None or "utilization" not in values:
        return []
    return [GpuSample(at=0.0, index=UNKNOWN, quote=quote, **values)]  # type: ignore[arg-type]


def _has(text: Text, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(line[:LONGEST]) for line in text.lines)


def recognise(text: Text) -> bool:
    """Whether `text` holds a series, a description of GPUs, or a sentence about their use."""
    return (
        text.probe == gpus.PROBE.name
        or _has(text, _STAMPED)
        or _has(text, dmon.HEADER)
        or _has(text, _PROSE["utilization"])
        or gpus.recognise(text)
    )


PROBE = Probe(
    name="gpu_samples",
    makes=GpuSamples,
    shares=("gpus",),  # one moment, where no series was had
    parse=parse,
    recognise=recognise,
    asks=(
        Command(
            ("nvidia-smi", "dmon", "-s", "pucmt", "-o", "DT", "-c", "11"),
            "use, power, clocks, memory and PCIe traffic of each GPU, eleven times in ten seconds",
            timeout=20.0,
            live_only=True,
        ),
    ),
)
