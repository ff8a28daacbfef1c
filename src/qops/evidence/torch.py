"""What PyTorch says about its process groups: watchdog, elastic launcher, flight recorder."""

from msgspec import Struct

from qops.evidence.text import Quote


class WatchdogTimeout(Struct, frozen=True):
    """A collective that the watchdog gave up. Times in milliseconds."""

    rank: int
    quote: Quote
    sequence: int | None = None
    op: str = ""
    elements_in: int | None = None
    elements_out: int | None = None
    timeout_ms: int | None = None
    ran_ms: int | None = None
    group: str = ""  # the process group, where the log says it; sequences of two groups have nothing in common


class WorkState(Struct, frozen=True):
    """How far a rank came in one process group."""

    rank: int
    enqueued: int
    completed: int
    quote: Quote
    group: str = ""


class WorkerExit(Struct, frozen=True):
    """A worker that the launcher reports as failed. `code` is negative for a signal."""

    rank: int
    code: int
    quote: Quote
    pid: int | None = None
    root: bool = False  # the launcher calls it the first failure


class TorchLog(Struct, frozen=True):
    """All such lines of all logs."""

    timeouts: tuple[WatchdogTimeout, ...] = ()
    work: tuple[WorkState, ...] = ()
    exits: tuple[WorkerExit, ...] = ()


class FlightEntry(Struct, frozen=True):
    """One recorded collective."""

    sequence: int
    op: str  # "all_reduce"
    state: str  # scheduled, started, completed
    sizes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    group: str = ""
    frames: tuple[str, ...] = ()  # innermost first: "file:line function"


class FlightRecord(Struct, frozen=True):
    """One rank's dump."""

    rank: int | None
    quote: Quote
    entries: tuple[FlightEntry, ...] = ()
    version: str = ""


class FlightRecords(Struct, frozen=True):
    """The dumps of all ranks seen."""

    records: tuple[FlightRecord, ...]
