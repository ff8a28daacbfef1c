"""What NCCL says: its log, and its RAS witness."""

from msgspec import Struct

from qops.evidence.text import Quote


class NcclRank(Struct, frozen=True):
    """One rank's start in one communicator. `complete` is False when START was seen and COMPLETE was not."""

    communicator: str  # commId, or the pointer on versions that print none
    rank: int
    size: int
    quote: Quote
    pid: int | None = None
    host: str = ""
    device: int | None = None  # cudaDev
    bus_id: str = ""  # as printed, hexadecimal
    started: bool = True
    complete: bool = False


class NcclSetting(Struct, frozen=True):
    """A setting that NCCL says is in force, or one that it refused."""

    name: str
    value: str
    quote: Quote
    pid: int | None = None
    rank: int | None = None  # local index in brackets
    host: str = ""
    refused: bool = False  # True: NCCL could not read the value and took its default


class NcclChannel(Struct, frozen=True):
    """The transport of one direction between two ranks; all channels of a pair with it are counted."""

    a: int
    b: int
    transport: str  # "P2P/CUMEM", "P2P/IPC", "P2P/direct pointer", "SHM/direct/direct", "NET/IB/0/GDRDMA", …
    count: int
    quote: Quote


class NcclCall(Struct, frozen=True):
    """The last collective that a process issued on a communicator (NCCL_DEBUG_SUBSYS=COLL)."""

    pid: int
    communicator: str  # pointer
    op: str  # "AllReduce"
    number: int  # opCount, decimal
    count: int  # elements
    datatype: int
    quote: Quote
    rank: int | None = None


class NcclWarning(Struct, frozen=True):
    """An `NCCL WARN` line. `text` is what follows WARN."""

    text: str
    quote: Quote
    pid: int | None = None
    rank: int | None = None
    host: str = ""


class NcclLog(Struct, frozen=True):
    """All NCCL lines of all logs."""

    versions: tuple[str, ...] = ()  # "2.28.9", each once
    ranks: tuple[NcclRank, ...] = ()
    settings: tuple[NcclSetting, ...] = ()
    channels: tuple[NcclChannel, ...] = ()
    warnings: tuple[NcclWarning, ...] = ()
    calls: tuple[NcclCall, ...] = ()
    networks: tuple[str, ...] = ()  # "Socket", "IB"
    interfaces: tuple[str, ...] = ()  # bootstrap interfaces
    connected: bool = False  # "Connected all rings/trees" seen
    last: Quote | None = None  # last NCCL line
    version_quote: Quote | None = None
    ras: tuple[Quote, ...] = ()  # lines about the RAS socket

    def rank_of(self, pid: int) -> int | None:
        """Return the global rank of a process, when one line says both."""
        return next((r.rank for r in self.ranks if r.pid == pid), None)


class RasRank(Struct, frozen=True):
    """One rank as RAS sees it. `operations` holds collective counts by name."""

    rank: int
    quote: Quote
    pid: int | None = None
    gpu: int | None = None
    host: str = ""
    status: str = ""  # RUNNING, INIT, NOCOMM, …; "" when not said
    operations: tuple[tuple[str, int], ...] = ()
    missing: bool = False
    considered_dead: bool = False
    unresponsive: bool = False
    error: str = ""  # what the rank reported: "System error", "Remote process error", …


class RasCommunicator(Struct, frozen=True):
    """One communicator in one RAS answer."""

    id: str
    size: int | None
    status: str  # RUNNING, …
    problem: str  # "MISMATCH", "INCOMPLETE", "ERROR", …; "" when RAS says OK
    ranks: tuple[RasRank, ...]
    quote: Quote


class RasAnswer(Struct, frozen=True):
    """One answer of the RAS socket; `answered` False: it was asked and gave none."""

    answered: bool
    quote: Quote
    at: float | None = None  # seconds
    version: str = ""
    communicators: tuple[RasCommunicator, ...] = ()


class Ras(Struct, frozen=True):
    """All RAS answers, in order of time."""

    answers: tuple[RasAnswer, ...]
