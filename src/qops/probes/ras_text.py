"""One text answer of NCCL's RAS, read line by line.

RAS names the ranks that differ and prints the rest as a number ("7 ranks have launched up to operation 2"); the
unnamed ones are filled in when only one such number is given. Wording: NVIDIA/nccl src/ras/client_support.cc.
"""

import re

from msgspec import Struct, field

from qops.evidence.nccl import RasAnswer, RasCommunicator, RasRank
from qops.evidence.text import Quote
from qops.pattern import lazy

MOST_RANKS = 4096  # ranks of one communicator that are filled in when RAS only counts them
MOST_COMMUNICATORS = 2000  # in one answer
MOST_FILLED = 200_000  # ranks looked at for that in one answer

_GROUP = lazy(
    r"^\s*(\d{1,6})\s+(\d{1,9})\s+\d{1,9}\s+\d{1,9}(?:-\d{1,9})?\s+(\d{1,9})\s+\d{1,9}\s+"
    r"([A-Z]{3,12})\s+([A-Z,]{2,40})\s*$",
    re.ASCII,
)
COMMUNICATOR = lazy(r"#(\d{1,6})-(\d{1,6}) \(([0-9a-f]{1,16})\) ([A-Z]{3,12})", re.ASCII)
_STATE = (
    r"(?: launched up to operation (?P<count>\d{1,18})| (?P<none>not launched any) operations"
    r"| status (?P<status>[A-Z]{3,12}))"
)
_RANK = lazy(
    rf"\bRank (?P<rank>\d{{1,9}})(?: has{_STATE}| reported (?P<error>[A-Za-z ]{{1,60}}?))? -- (?:GPU (?P<gpu>\d{{1,4}})"
    r"(?: \(NVML \d{1,4}\))? managed by process (?P<pid>\d{1,10}) on node (?P<host>\S{1,100})|\[)",
    re.ASCII,
)
_MANY = lazy(rf"\b\d{{1,9}} ranks (?:have{_STATE}|reported (?P<error>[A-Za-z ]{{1,60}}))", re.ASCII)
_DIFFERENT = lazy(r"ommunicator ranks have different (?P<what>\w{1,40})(?P<counts> operation counts)?", re.ASCII)
_PROCESS = lazy(r"\bProcess (?P<pid>\d{1,10}) on node (?P<host>\S{1,100}) managing GPU", re.ASCII)


class _Rank(Struct):
    quote: Quote
    operations: dict[str, int] = field(default_factory=dict)
    pid: int | None = None
    gpu: int | None = None
    host: str = ""
    status: str = ""
    missing: bool = False
    error: str = ""


class _Communicator(Struct):
    quote: Quote
    size: int | None = None
    status: str = ""
    id: str = ""
    problems: list[str] = field(default_factory=list)
    ranks: dict[int, _Rank] = field(default_factory=dict)


class _Count(Struct):
    state: re.Match[str]
    quote: Quote
    named: int = 0  # how many of these ranks are named below


class Reader:
    """Takes the lines of one answer; `answer` gives what they say."""

    def __init__(self, quote: Quote) -> None:
        self._quote = quote
        self.version = ""
        self._done = False  # the part on communicators came
        self._table: dict[tuple[int, int], _Communicator] = {}
        self._dead: set[tuple[int, str]] = set()
        self._in_dead = False
        self._communicator: _Communicator | None = None
        self._topic = ""  # "missing", "error", "status" or the collective that rank lines are about
        self._counts: list[_Count] = []
        self._named: set[int] = set()
        self._filled = 0

    @property
    def begun(self) -> bool:
        """Whether more than the greeting was read."""
        return self._done or bool(self.version)

    def take(self, line: str, quote: Quote) -> None:
        """Read one line; lines of other programs are passed over."""
        bare = line.strip()
        if bare.startswith(("Group     Comms", "No communicator data collected")):
            self._done = True
        elif bare in ("DEAD", "INCOMPLETE"):
            self._in_dead = bare == "DEAD"
        elif group := _GROUP.match(line):
            self._add_group(group, quote)
        elif head := COMMUNICATOR.search(line):
            self._open(head, quote)
        elif different := _DIFFERENT.search(line):
            self._turn(different["what"] if different["counts"] else "status")
        elif many := _MANY.search(line):
            self._counts.append(_Count(many, quote))
        elif rank := _RANK.search(line):
            self._add_rank(rank, quote)
        elif self._in_dead and (process := _PROCESS.search(line)):
            self._dead.add((int(process["pid"]), process["host"]))

    def _add_group(self, group: re.Match[str], quote: Quote) -> None:
        self._done = True
        for index in range(min(int(group[2]), MOST_COMMUNICATORS - len(self._table))):
            problems = [] if group[5] == "OK" else group[5].split(",")
            self._table[int(group[1]), index] = _Communicator(quote, int(group[3]), group[4], problems=problems)

    def _open(self, head: re.Match[str], quote: Quote) -> None:
        self._turn({"INCOMPLETE": "missing", "ERROR": "error"}.get(head[4], ""))
        self._in_dead = False
        self._communicator = None
        key = (int(head[1]), int(head[2]))
        if key not in self._table and len(self._table) >= MOST_COMMUNICATORS:
            return
        self._done = True
        found = self._table.setdefault(key, _Communicator(quote))
        if not found.id:
            found.id, found.quote = head[3].zfill(16), quote
        if head[4] not in found.problems:
            found.problems.append(head[4])
        self._communicator = found

    def _turn(self, topic: str) -> None:
        self._fill()
        self._topic, self._counts, self._named = topic, [], set()

    def _fill(self) -> None:
        """Give the ranks that were only counted their state, when there is no doubt which ones they are."""
        unnamed = [c for c in self._counts if not c.named and not c.state["error"]]
        communicator = self._communicator
        if communicator is None or len(unnamed) != 1 or not communicator.size or communicator.size > MOST_RANKS:
            return
        for number in range(communicator.size):
            self._filled += 1
            if self._filled > MOST_FILLED:
                return
            known = communicator.ranks.get(number)
            if number in self._named or (known is not None and known.missing):
                continue
            if known is None:
                known = communicator.ranks[number] = _Rank(unnamed[0].quote)
            self._put(known, unnamed[0].state)

    def _add_rank(self, line: re.Match[str], quote: Quote) -> None:
        if self._communicator is None:
            return
        number = int(line["rank"])
        rank = self._communicator.ranks.setdefault(number, _Rank(quote))
        self._named.add(number)
        if line["pid"]:
            rank.pid, rank.gpu, rank.host = int(line["pid"]), int(line["gpu"]), line["host"]
        if any(line[name] is not None for name in ("count", "none", "status", "error")):
            self._put(rank, line)
        elif self._topic == "missing":
            rank.missing = True
        elif self._counts:
            self._counts[-1].named += 1
            self._put(rank, self._counts[-1].state)

    def _put(self, rank: _Rank, state: re.Match[str]) -> None:
        if state["status"]:
            rank.status = state["status"]
        elif state["error"]:
            rank.error = state["error"].strip()
        elif self._topic not in ("", "missing", "error", "status"):
            rank.operations[self._topic] = int(state["count"] or 0)

    def answer(self, at: float | None) -> RasAnswer:
        """Return what was read. An answer that stopped before its part on communicators counts as none."""
        self._turn("")
        return RasAnswer(
            answered=self._done,
            quote=self._quote,
            at=at,
            version=self.version,
            communicators=tuple(
                RasCommunicator(
                    id=c.id or f"#{group}-{index}",
                    size=c.size,
                    status=c.status,
                    problem=",".join(c.problems),
                    ranks=tuple(self._rank(number, c.ranks[number]) for number in sorted(c.ranks)),
                    quote=c.quote,
                )
                for (group, index), c in self._table.items()
            ),
        )

    def _rank(self, number: int, rank: _Rank) -> RasRank:
        dead = rank.pid is not None and (rank.pid, rank.host) in self._dead
        return RasRank(
            rank=number,
            quote=rank.quote,
            pid=rank.pid,
            gpu=rank.gpu,
            host=rank.host,
            status=rank.status,
            operations=tuple(rank.operations.items()),
            missing=rank.missing or rank.status == "NOCOMM",
            considered_dead=dead,
            unresponsive=rank.missing and not dead,
            error=rank.error,
        )
