"""What the serving engine says: its log and its metrics."""

from dataclasses import dataclass

from qops.evidence.text import Quote


@dataclass(frozen=True, slots=True)
class EngineLog:
    """The parts of a vLLM or SGLang log that are state, not messages (those are in `Logs`)."""

    engine: str  # "vllm" | "sglang"
    quote: Quote
    version: str = ""
    ready: bool = False  # said that it serves
    arguments: tuple[tuple[str, str], ...] = ()  # non-default args, as printed
    nccl: str = ""  # version in the pynccl banner
    last: Quote | None = None


@dataclass(frozen=True, slots=True)
class EngineLogs:
    """One entry for each engine log."""

    logs: tuple[EngineLog, ...]


@dataclass(frozen=True, slots=True)
class MetricsSample:
    """One scrape of `/metrics`: sums over labels, by metric name."""

    at: float | None  # seconds
    values: dict[str, float]
    quote: Quote
    port: int | None = None  # which engine; None: not said


@dataclass(frozen=True, slots=True)
class EngineMetrics:
    """Scrapes in order of time."""

    samples: tuple[MetricsSample, ...]


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job printed about itself: exit status, and measured collectives."""

    quote: Quote
    exit_status: int | None = None
    measured: tuple[tuple[str, float, float, Quote], ...] = ()  # (what, milliseconds, GB/s, line)


@dataclass(frozen=True, slots=True)
class JobResults:
    """All jobs seen."""

    jobs: tuple[JobResult, ...]
