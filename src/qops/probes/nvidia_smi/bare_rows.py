"""Rows of `nvidia-smi --query-gpu=… --format=csv,noheader` without their command: read by the shape of their cells."""

import re

from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.nvidia_smi.quantity import bus
from qops.probes.nvidia_smi.reading import Answer, Reading
from qops.probes.prefix import strip

_LONGEST = 400  # characters of such a row
_ROW = lazy(r"(?:([0-9]{1,3}), ?)?(NVIDIA [^,]{2,60}|Tesla [^,]{2,40}|GeForce [^,]{2,40})((?:, ?[^,]{1,60}){1,12})")
_BUS = lazy(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]", re.ASCII)
_DRIVER = lazy(r"[3-9][0-9]{2}\.[0-9]{2,3}(?:\.[0-9]{2})?", re.ASCII)
_CAPABILITY = lazy(r"(?:[3-9]|1[0-9])\.[0-9]", re.ASCII)
_UNIT = lazy(r"[0-9.]{1,9} (?:MiB|W|MHz|%)")
_UUID = lazy(r"GPU-[0-9a-f]{4,12}[0-9a-f.…*x-]{0,40}", re.ASCII)


def parse(text: Text) -> Answer:
    """Return the GPUs of rows that begin with an index or a name and hold a cell of an unmistakable shape.

    Memory, power and utilisation have no such shape: which of them a number is, only a header says. With an index
    before it and a unit behind it, a name is that of a board here.
    """
    answer = Answer()
    for index, raw in enumerate(text.lines):
        if "," not in raw or len(raw) > _LONGEST:
            continue
        row = _ROW.fullmatch(strip(raw).strip())
        if row is None:
            continue
        cells = [cell.strip() for cell in row[3].split(",")[1:]]
        reading = Reading(text.quote(index))
        if row[1]:
            reading.index = int(row[1])
        for cell in cells:
            if _BUS.fullmatch(cell):
                reading.say("bus_id", bus(cell))
            elif _CAPABILITY.fullmatch(cell):
                reading.say("compute_capability", cell)
            elif _UUID.fullmatch(cell):
                reading.say("uuid", cell)
            elif _DRIVER.fullmatch(cell):
                answer.driver = answer.driver or cell
            else:
                continue
            reading.say("name", row[2].strip())
        if not reading.values and any(_DRIVER.fullmatch(cell) or (row[1] and _UNIT.fullmatch(cell)) for cell in cells):
            reading.say("name", row[2].strip())
        if reading.telling:
            answer.quote = answer.quote or reading.quote
            answer.readings.append(reading)
    return answer


def recognise(text: Text) -> bool:
    """Whether a line of `text` is such a row."""
    return any("," in line and len(line) <= _LONGEST and _ROW.fullmatch(strip(line).strip()) for line in text.lines)
