"""What the serving engine says: its log and its metrics."""

from msgspec import Struct

from qops.evidence.text import Quote


class EngineLog(Struct, frozen=True):
    """The parts of a vLLM or SGLang log that are state, not messages (those are in `Logs`)."""

    engine: str  # "vllm" | "sglang"
    quote: Quote
    version: str = ""
    ready: bool = False  # said that it serves
    arguments: tuple[tuple[str, str], ...] = ()  # non-default args, as printed
    nccl: str = ""  # version in the pynccl banner
    last: Quote | None = None
    made: Quote | None = None  # the line that says that the engine itself is up, behind a server that may not be
    served: Quote | None = None  # the last line that shows tokens or an answer; None when requests ran without any

    @property
    def serves(self) -> bool:
        """Whether it said that it serves, or shows that it does."""
        return self.ready or self.served is not None


class EngineLogs(Struct, frozen=True):
    """One entry for each engine log."""

    logs: tuple[EngineLog, ...]


class MetricsSample(Struct, frozen=True):
    """One scrape of `/metrics`: sums over labels, by metric name."""

    at: float | None  # seconds
    values: dict[str, float]
    quote: Quote
    port: int | None = None  # which engine; None: not said


class EngineMetrics(Struct, frozen=True):
    """Scrapes in order of time."""

    samples: tuple[MetricsSample, ...]


class JobResult(Struct, frozen=True):
    """What a job printed about itself: exit status, and measured collectives."""

    quote: Quote
    exit_status: int | None = None
    measured: tuple[tuple[str, float, float, Quote], ...] = ()  # (what, milliseconds, GB/s, line)


class JobResults(Struct, frozen=True):
    """All jobs seen."""

    jobs: tuple[JobResult, ...]
