"""What PyTorch says about its process groups: watchdog, elastic launcher, flight recorder."""

from dataclasses import dataclass

from qops.evidence.text import Quote


@dataclass(frozen=True, slots=True)
class WatchdogTimeout:
    """A collective that the watchdog gave up. Times in milliseconds."""

    rank: int
    quote: Quote
    sequence: int | None = None
    op: str = ""
    elements_in: int | None = None
    elements_out: int | None = None
    timeout_ms: int | None = None
    ran_ms: int | None = None


@dataclass(frozen=True, slots=True)
class WorkState:
    """How far a rank came in one process group."""

    rank: int
    enqueued: int
    completed: int
    quote: Quote
    group: str = ""


@dataclass(frozen=True, slots=True)
class WorkerExit:
    """A worker that the launcher reports as failed. `code` is negative for a signal."""

    rank: int
    code: int
    quote: Quote
    pid: int | None = None
    root: bool = False  # the launcher calls it the first failure


@dataclass(frozen=True, slots=True)
class TorchLog:
    """All such lines of all logs."""

    timeouts: tuple[WatchdogTimeout, ...] = ()
    work: tuple[WorkState, ...] = ()
    exits: tuple[WorkerExit, ...] = ()


@dataclass(frozen=True, slots=True)
class FlightEntry:
    """One recorded collective."""

    sequence: int
    op: str  # "all_reduce"
    state: str  # scheduled, started, completed
    sizes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    group: str = ""
    frames: tuple[str, ...] = ()  # innermost first: "file:line function"


@dataclass(frozen=True, slots=True)
class FlightRecord:
    """One rank's dump."""

    rank: int | None
    quote: Quote
    entries: tuple[FlightEntry, ...] = ()
    version: str = ""


@dataclass(frozen=True, slots=True)
class FlightRecords:
    """The dumps of all ranks seen."""

    records: tuple[FlightRecord, ...]
