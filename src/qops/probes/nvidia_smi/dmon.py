"""`nvidia-smi dmon`: one line for each GPU and second, below a header that names the columns.

Columns of -s pucvmet differ with the driver (580 adds jpg, ofa, ccpm), so they are found by name. With -o DT the
first two columns are the date and the time. Without, the lines are one second apart (-d 1, the default).
"""

import re

from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.nvidia_smi.quantity import number, size, whole
from qops.probes.nvidia_smi.reading import Reading
from qops.probes.nvidia_smi.stamp import seconds
from qops.probes.prefix import strip

HEADER = lazy(r"\bgpu +(?:pwr|sm|mem|fb|mclk|pclk|rxpci|gtemp|pviol|sbecc)\b")

_PERIOD = 1.0  # seconds
_VALUE = lazy(r"-|[0-9]{1,12}(?:\.[0-9]{1,6})?|[0-9:/-]{5,12}", re.ASCII)
_COLUMNS = {
    "sm": ("utilization", whole),
    "mem": ("memory_utilization", whole),
    "pwr": ("power", number),
    "fb": ("memory_used", size),
    "pclk": ("sm_clock", whole),
    "rxpci": ("rx", whole),
    "txpci": ("tx", whole),
}
_MOST = 64  # columns


def parse(text: Text) -> list[tuple[list[Reading], bool]]:
    """Return each series in `text`, and whether its times are of the clock on the wall."""
    series: list[tuple[list[Reading], bool]] = []
    columns: list[str] = []
    current: list[Reading] = []
    round_ = 0
    seen: set[int] = set()
    for index, raw in enumerate(text.lines):
        if not columns and "gpu" not in raw:  # neither a header nor below one
            continue
        line = strip(raw)
        header = HEADER.search(line[:300])
        if header:
            before = line[: header.start()].replace("#", " ").lower().split()
            stamps = [name for name in before[-2:] if name in ("date", "time")]
            names = stamps + line[header.start() :].lower().split()[:_MOST]
            if names != columns:
                columns, current, round_, seen = names, [], 0, set()
                series.append((current, "time" in columns and "date" in columns))
            continue
        if not columns or line.lstrip().startswith("#") or not line.strip():
            continue
        cells = line.split(None, _MOST)
        if len(cells) != len(columns) or not all(_VALUE.fullmatch(cell) for cell in cells):
            columns = []
            continue
        values = dict(zip(columns, cells, strict=True))
        gpu = whole(values["gpu"])
        if gpu is None or gpu > 1000:
            continue
        if gpu in seen:
            round_ += 1
            seen = set()
        seen.add(gpu)
        reading = Reading(text.quote(index), gpu, at=round_ * _PERIOD)
        if "time" in values:
            stamp = seconds(f"{values['date']} {values['time']}" if "date" in values else values["time"])
            reading.at = stamp if stamp is not None else reading.at
        for name, (field, convert) in _COLUMNS.items():
            value = convert(values.get(name, "-"))
            if value is not None:
                reading.values.setdefault(field, value)
        current.append(reading)
    return [(readings, absolute) for readings, absolute in series if readings]
