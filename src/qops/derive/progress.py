"""What the GPUs are doing over time: spinning in a kernel that waits, computing, or being loaded.

Utilisation alone says little: a GPU that waits inside a collective shows 100 %, like one that works. What tells
them apart is memory traffic, power and memory use over time. The figures come from recordings of two H200s:
waiting in a collective 100 % busy, 0 % memory, 121 to 127 W of 700 W, flat; matrix products 94 to 97 %, 22 %,
690 W; a memory-bound kernel 98 %, 100 %, 485 W. RTX PRO 6000 boards wait at about 120 W of 600 W.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from qops.evidence.gpu import Gpus, GpuSample, GpuSamples
from qops.evidence.text import Quote

MIN_SECONDS = 8.0  # a stall shorter than this is not told from a slow step
BUSY = 90  # percent
STILL_MEMORY = 1  # percent of memory utilisation that a waiting kernel may show
WAIT_POWER = 0.45  # of the limit: more is work (measured: waiting 0.17 to 0.20)
FLAT_POWER = 0.08  # relative spread of the power of a kernel that only waits (measured: 0.01)
FLAT_MEMORY = 32 << 20  # bytes by which memory in use may move without being a load
LOADED = 512 << 20  # bytes that must arrive in a row to be called a load


class Stretch(Struct, frozen=True):
    """A stretch of time in which one GPU did one thing. `seconds` long."""

    index: int
    start: float
    seconds: float
    quotes: tuple[Quote, ...]
    power: float | None = None  # watts, median
    power_limit: float | None = None
    memory_utilization: int | None = None  # percent, median
    utilization: int | None = None  # percent, median
    loaded: int = 0  # bytes that arrived

    @property
    def end(self) -> float:
        """When it ended, in seconds since the first sample."""
        return self.start + self.seconds


def spinning(samples: GpuSamples | None, gpus: Gpus | None = None) -> tuple[Stretch, ...]:
    """Return the GPUs that ran a kernel which moved nothing for `MIN_SECONDS` or longer."""
    found = []
    for index in samples.indexes if samples else ():
        limit = _limit(gpus, index)
        longest: Stretch | None = None
        for run in _runs(samples.of(index) if samples else (), _waits):
            stretch = _stretch(index, run, limit)
            if stretch.seconds < MIN_SECONDS or not _flat(run, limit):
                continue
            if longest is None or stretch.seconds > longest.seconds:
                longest = stretch
        if longest:
            found.append(longest)
    return tuple(found)


def may_wait(samples: GpuSamples, index: int) -> bool:
    """Return whether the readings of a GPU may be those of a kernel that only waits, however few they are."""
    own = samples.of(index)
    return all((s.utilization or 0) >= BUSY and (s.memory_utilization or 0) <= STILL_MEMORY for s in own) and _flat(
        own, None
    )


def computing(samples: GpuSamples | None, gpus: Gpus | None = None) -> tuple[Stretch, ...]:
    """Return the GPUs that worked (kernels that use memory or power) for `MIN_SECONDS` or longer."""
    found = []
    for index in samples.indexes if samples else ():
        limit = _limit(gpus, index)

        def works(s: GpuSample, limit: float | None = limit) -> bool:
            if s.utilization is None or s.utilization < 50:
                return False
            moves = s.memory_utilization is not None and s.memory_utilization >= 5
            burns = s.power is not None and limit is not None and s.power > WAIT_POWER * limit
            return moves or burns

        runs = [_stretch(index, run, limit) for run in _runs(samples.of(index) if samples else (), works)]
        longest = max(runs, key=lambda s: s.seconds, default=None)
        if longest and longest.seconds >= MIN_SECONDS:
            found.append(longest)
    return tuple(found)


def loading(samples: GpuSamples | None) -> tuple[Stretch, ...]:
    """Return the GPUs whose memory in use grew steadily, with hardly a kernel running."""
    found = []
    for index in samples.indexes if samples else ():
        own = samples.of(index) if samples else ()
        best: Stretch | None = None
        for run in _growing(own):
            loaded = (run[-1].memory_used or 0) - (run[0].memory_used or 0)
            if loaded < LOADED or len(run) < 4:
                continue
            stretch = _stretch(index, run, None, loaded)
            if best is None or stretch.seconds > best.seconds:
                best = stretch
        if best:
            found.append(best)
    return tuple(found)


def idle_during(samples: GpuSamples, others: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """Return the GPUs that hold memory and ran nothing while `others` spun."""
    if not others:
        return ()
    start, end = max(s.start for s in others), min(s.end for s in others)
    spun = {s.index for s in others}
    found = []
    for index in samples.indexes:
        if index in spun:
            continue
        own = [s for s in samples.of(index) if start <= s.at <= end]
        still = [s for s in own if s.utilization is not None and s.utilization <= 5]
        holds = any((s.memory_used or 0) > (256 << 20) for s in own)
        if len(own) >= 3 and len(still) == len(own) and holds:
            found.append(_stretch(index, own, None))
    return tuple(found)


def _waits(sample: GpuSample) -> bool:
    return (
        sample.utilization is not None
        and sample.utilization >= BUSY
        and sample.memory_utilization is not None
        and sample.memory_utilization <= STILL_MEMORY
    )


def _flat(run: Sequence[GpuSample], limit: float | None) -> bool:
    # The first reading may still hold the climb of power into the kernel.
    power = [s.power for s in run[1:] if s.power is not None]
    memory = [s.memory_used for s in run[1:] if s.memory_used is not None]
    if power:
        middle = sorted(power)[len(power) // 2]
        if middle <= 0 or (max(power) - min(power)) / middle > FLAT_POWER:
            return False
        if limit is not None and middle > WAIT_POWER * limit:
            return False
    return not memory or max(memory) - min(memory) <= FLAT_MEMORY


def _runs(samples: Sequence[GpuSample], wanted: Callable[[GpuSample], bool]) -> Iterator[list[GpuSample]]:
    run: list[GpuSample] = []
    for sample in samples:
        if wanted(sample):
            run.append(sample)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _growing(samples: Sequence[GpuSample]) -> Iterator[list[GpuSample]]:
    run: list[GpuSample] = []
    for sample in samples:
        quiet = (sample.utilization or 0) < 50
        if sample.memory_used is None or not quiet:
            if run:
                yield run
            run = []
        elif run and sample.memory_used <= (run[-1].memory_used or 0):
            yield run
            run = [sample]
        else:
            run.append(sample)
    if run:
        yield run


def _stretch(index: int, run: Sequence[GpuSample], limit: float | None, loaded: int = 0) -> Stretch:
    power = sorted(s.power for s in run if s.power is not None)
    memory = sorted(s.memory_utilization for s in run if s.memory_utilization is not None)
    busy = sorted(s.utilization for s in run if s.utilization is not None)
    quotes = tuple(dict.fromkeys((run[0].quote, run[len(run) // 2].quote, run[-1].quote)))
    return Stretch(
        index=index,
        start=run[0].at,
        seconds=run[-1].at - run[0].at,
        quotes=quotes,
        power=power[len(power) // 2] if power else None,
        power_limit=limit,
        memory_utilization=memory[len(memory) // 2] if memory else None,
        utilization=busy[len(busy) // 2] if busy else None,
        loaded=loaded,
    )


def _limit(gpus: Gpus | None, index: int) -> float | None:
    return next((g.power_limit for g in gpus.gpus if g.index == index), None) if gpus else None
