"""What GPUs did over the sampled time as line plots, with the stretches marked in which kernels only waited."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qops.derive.picture import Picture
from qops.derive.progress import Stretch
from qops.evidence.gpu import GpuSample

WIDTH, HEIGHT = 640, 170  # of a plot with its labels, in SVG units
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 10, 30
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Curve:
    """One GPU's line. `style` counts the GPUs; colour and dashes are chosen by it."""

    name: str
    points: str
    style: int


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot. `ticks` and `times` are (place, label); `bands` are (x, width) of the marked stretches."""

    title: str
    curves: tuple[Curve, ...]
    ticks: tuple[tuple[float, str], ...]
    times: tuple[tuple[float, str], ...]
    bands: tuple[tuple[float, float], ...]
    words: str  # what the drawing shows, for those who do not see it
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


_KINDS: tuple[tuple[str, str, Callable[[GpuSample], float | None]], ...] = (
    ("GPU busy", "%", lambda s: s.utilization),
    ("Power", "W", lambda s: s.power),
    ("Memory in use", "GiB", lambda s: None if s.memory_used is None else s.memory_used / GIB),
    ("SM clock", "MHz", lambda s: s.sm_clock),
)


def plots(picture: Picture) -> tuple[Plot, ...]:
    """Return the plots of all that was sampled more than once."""
    last = max((s.at for s in picture.samples), default=0.0)
    if last <= 0.0:
        return ()
    made = (_plot(title, unit, value, picture.samples, picture.spinning, last) for title, unit, value in _KINDS)
    return tuple(plot for plot in made if plot is not None)


def marked(spinning: Sequence[Stretch]) -> tuple[str, ...]:
    """Return in words what is marked: which GPUs, from when to when."""
    times: dict[str, list[str]] = {}
    for one in spinning:
        times.setdefault(f"{one.start:.0f} to {one.end:.0f} s", []).append(str(one.index))
    return tuple(f"GPU {', '.join(gpus)} ran a kernel that moved nothing from {when}" for when, gpus in times.items())


def _plot(
    title: str,
    unit: str,
    value: Callable[[GpuSample], float | None],
    samples: Sequence[GpuSample],
    spinning: Sequence[Stretch],
    last: float,
) -> Plot | None:
    series: dict[int, list[tuple[float, float]]] = {}
    for sample in samples:
        read = value(sample)
        if read is not None and math.isfinite(read):
            series.setdefault(sample.index, []).append((sample.at, read))
    if not series:
        return None
    top = 100.0 if unit == "%" else _round(max(read for points in series.values() for _, read in points))

    def x(at: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * at / last, 1)

    def y(read: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(read, top) / top, 1)

    curves = tuple(
        Curve(f"GPU {index}", " ".join(f"{x(at)},{y(read)}" for at, read in points), style)
        for style, (index, points) in enumerate(sorted(series.items()))
    )
    told = "; ".join(
        f"GPU {index} {min(r for _, r in points):.0f} to {max(r for _, r in points):.0f} {unit}"
        for index, points in sorted(series.items())
    )
    step = _round(last / 5)
    return Plot(
        title=f"{title}, {unit}",
        curves=curves,
        ticks=tuple((y(top * part / 4), f"{top * part / 4:g}") for part in (0, 2, 4)),
        times=tuple((x(n * step), f"{n * step:g} s") for n in range(math.floor(last / step) + 1)),
        bands=tuple((x(begin), round(x(end) - x(begin), 1)) for begin, end in _merged(spinning)),
        words=f"{title} over {last:.0f} s: {told}",
    )


def _merged(spinning: Sequence[Stretch]) -> list[tuple[float, float]]:
    """Return (start, end) of the times in which any GPU spun."""
    merged: list[tuple[float, float]] = []
    for one in sorted(spinning, key=lambda stretch: stretch.start):
        if merged and one.start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(one.end, merged[-1][1]))
        else:
            merged.append((one.start, one.end))
    return merged


def _round(value: float) -> float:
    """Return the next of 1, 2, 4, 5, 8 or 10 times a power of ten that is not below `value`; 1 for nothing."""
    if value <= 0:
        return 1.0
    ten: float = 10.0 ** math.floor(math.log10(value))
    return next(step * ten for step in (1, 2, 4, 5, 8, 10) if step * ten >= value * (1 - 1e-9))
