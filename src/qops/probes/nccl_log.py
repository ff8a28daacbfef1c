"""What NCCL logged: who started in which communicator and who got through, settings, transports, last calls."""

import re
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from qops.evidence.nccl import NcclCall, NcclChannel, NcclLog, NcclRank, NcclSetting, NcclWarning
from qops.evidence.text import Quote, Text
from qops.probes import nccl_lines as shapes
from qops.probes.base import Probe
from qops.probes.nccl_lines import Part, parts

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Owner = tuple[str, int | None, str]  # host, pid, pointer of the communicator

KEPT = 2000  # of each kind: this many of the first and this many of the latest


class _Ends(Generic[K, V]):
    """A mapping that keeps its first and its latest entries and forgets those between."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._first: dict[K, V] = {}
        self._latest: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        found = self._first.get(key)
        return found if found is not None else self._latest.get(key)

    def put(self, key: K, value: V) -> None:
        if key in self._first or len(self._first) < self._most:
            self._first[key] = value
            return
        self._latest[key] = value
        if len(self._latest) > self._most:
            self._latest.popitem(last=False)

    def values(self) -> Iterable[V]:
        return (*self._first.values(), *self._latest.values())

    def items(self) -> Iterable[tuple[K, V]]:
        return (*self._first.items(), *self._latest.items())


class _Channel(Struct):
    quote: Quote
    count: int = 1


# A line that is likely to be superseded by the next one, not yet made into evidence.
_Call = tuple[re.Match[str], Text, int]


class _State(Struct):
    """What was read so far. All texts add to it."""

    versions: dict[str, None] = field(default_factory=dict)
    ranks: _Ends[tuple[Owner, str], NcclRank] = field(default_factory=_Ends)
    current: _Ends[Owner, str] = field(default_factory=_Ends)  # the communicator that a pointer stands for
    settings: _Ends[Hashable, NcclSetting] = field(default_factory=_Ends)
    channels: _Ends[tuple[str, str, str], _Channel] = field(default_factory=_Ends)
    warnings: _Ends[Hashable, NcclWarning] = field(default_factory=_Ends)
    calls: _Ends[tuple[int, str], _Call] = field(default_factory=_Ends)
    callers: _Ends[tuple[int, str], Owner] = field(default_factory=_Ends)
    networks: dict[str, None] = field(default_factory=dict)
    interfaces: dict[str, None] = field(default_factory=dict)
    ras: _Ends[str, Quote] = field(default_factory=lambda: _Ends(50))
    connected: bool = False
    last: Quote | None = None
    version_quote: Quote | None = None


def parse(texts: Sequence[Text]) -> NcclLog | None:
    """Return what the NCCL lines in `texts` say, or None when there is none. Pure and total."""
    state = _State()
    for text in texts:
        _text(text, state)
    if state.last is None and state.version_quote is None:
        return None
    return NcclLog(
        versions=tuple(state.versions),
        ranks=tuple(state.ranks.values()),
        settings=tuple(state.settings.values()),
        channels=tuple(
            NcclChannel(int(a), int(b), transport, c.count, c.quote) for (a, b, transport), c in state.channels.items()
        ),
        warnings=tuple(state.warnings.values()),
        calls=tuple(_called(pid, call, state) for (pid, _), call in state.calls.items()),
        networks=tuple(state.networks),
        interfaces=tuple(state.interfaces),
        connected=state.connected,
        last=state.last,
        version_quote=state.version_quote,
        ras=tuple(state.ras.values()),
    )


def _text(text: Text, state: _State) -> None:
    last = None
    for index, line in enumerate(text.lines):
        if "NCCL" not in line and not any(word in line for word in shapes.BARE):
            continue
        if "NCCL version " in line and (version := shapes.VERSION.search(line)):
            _few(state.versions, version["version"])
            state.version_quote = state.version_quote or text.quote(index)
        for part in parts(line):
            if _message(part, text, index, state) or part.level:
                last = index
    if last is not None:
        state.last = text.quote(last)
    end = text.last_line.strip()[:2000]  # of a log that was reduced
    if end and (state.last is None or state.last.text != end) and any(p.level for p in parts(text.last_line)):
        state.last = Quote(text.source, 0, end)


def _few(into: dict[str, None], value: str) -> None:
    if len(into) < KEPT:
        into[value] = None


def _message(part: Part, text: Text, index: int, state: _State) -> bool:
    """Read one message; tell whether it was of a known kind."""
    body = part.body
    if part.level == "WARN":
        said = body.strip()[:1000]
        warning = NcclWarning(said, text.quote(index), part.pid, part.device, part.host)
        if state.warnings.get((said, part.pid, part.host)) is None:
            state.warnings.put((said, part.pid, part.host), warning)
        return True
    if "opCount " in body:
        return _call(part, text, index, state)
    if " via " in body and (channel := shapes.CHANNEL.search(body)):
        key = (channel["a"], channel["b"], channel["transport"].strip())
        known = state.channels.get(key)
        if known is None:
            state.channels.put(key, _Channel(text.quote(index)))
        else:
            known.count += 1
        return True
    if "comm 0x" in body and (communicator := shapes.COMMUNICATOR.search(body)):
        _rank(part, communicator, text.quote(index), state)
        return True
    if setting := shapes.SET.search(body):
        value = setting["value"].strip()
        # NCCL ends the sentence after a number, not after a name.
        value = value[:-1] if value.endswith(".") else value
        _setting(part, setting["name"], value, False, text.quote(index), state)
        return True
    if refused := shapes.REFUSED.search(body):
        _setting(part, refused["name"], refused["value"], True, text.quote(index), state)
        return True
    if "Connected all " in body:
        state.connected = True
        return True
    if not part.level:
        return False
    if network := shapes.NETWORK.search(body):
        _few(state.networks, network["name"].strip())
    elif interface := shapes.INTERFACE.search(body):
        _few(state.interfaces, interface["name"])
    elif shapes.RAS.match(body):
        state.ras.put(body, text.quote(index))
    return False


def _setting(part: Part, name: str, value: str, refused: bool, quote: Quote, state: _State) -> None:
    key = (name, value, refused, part.pid, part.host, part.device)
    if value and state.settings.get(key) is None:
        state.settings.put(key, NcclSetting(name, value, quote, part.pid, part.device, part.host, refused))


def _rank(part: Part, line: re.Match[str], quote: Quote, state: _State) -> None:
    rest = line["rest"]
    stage = shapes.STAGE.search(rest)
    step = stage["stage"] if stage else ""
    if step in ("Destroy", "Abort"):
        return
    owner: Owner = (part.host, part.pid, line["pointer"])
    name = _communicator(part, rest, state) or (state.current.get(owner) if step != "Init START" else None)
    name = name or line["pointer"]
    state.current.put(owner, name)
    if part.pid is not None:
        state.callers.put((part.pid, line["pointer"]), owner)
    device = shapes.DEVICE.search(rest)
    known = state.ranks.get((owner, name))
    if known is None or known.rank != int(line["rank"]):
        known = NcclRank(
            communicator=name,
            rank=int(line["rank"]),
            size=int(line["size"]),
            quote=quote,
            pid=part.pid,
            host=part.host,
            started=False,
        )
    state.ranks.put(
        (owner, name),
        replace(
            known,
            quote=quote if step else known.quote,  # the latest stage says how far it came
            device=int(device["device"]) if device else known.device,
            bus_id=device["bus"] if device else known.bus_id,
            started=known.started or step in ("Init START", "Init COMPLETE"),
            complete=known.complete or step == "Init COMPLETE",
        ),
    )


def _communicator(part: Part, rest: str, state: _State) -> str:
    """Return the name that all ranks of a communicator share: its commId, or for a split what it was split from."""
    if named := shapes.COMM_ID.search(rest):
        return str(named[1])
    if split := shapes.PARENT.search(rest):
        parent = state.current.get((part.host, part.pid, split["parent"])) or split["parent"]
        return f"{parent}/{split['count'] or 0}.{split['color']}"[:200]
    return ""


def _call(part: Part, text: Text, index: int, state: _State) -> bool:
    call = shapes.CALL.search(part.body)
    if call is None or part.pid is None:
        return False
    state.calls.put((part.pid, call["pointer"]), (call, text, index))
    return True


def _called(pid: int, found: _Call, state: _State) -> NcclCall:
    call, text, index = found
    owner = state.callers.get((pid, call["pointer"]))
    name = state.current.get(owner) if owner else None
    known = state.ranks.get((owner, name)) if owner and name else None
    return NcclCall(
        pid=pid,
        communicator=call["pointer"],
        op=call["op"],
        number=int(call["number"], 16),
        count=int(call["count"]),
        datatype=int(call["datatype"]),
        quote=text.quote(index),
        rank=known.rank if known else None,
    )


def recognise(text: Text) -> bool:
    """Tell whether `text` holds a line of NCCL's log."""
    if any("NCCL INFO " in line or "NCCL WARN " in line for line in text.lines):
        return True
    return parse([text]) is not None  # an excerpt without prefixes, or the version alone


PROBE = Probe(
    name="nccl-log",
    makes=NcclLog,
    parse=parse,
    recognise=recognise,
    families=("nccl", "serve"),
    literals=(
        # Never `NCCL INFO` or `opCount`: they stand on every line of a log that traces its calls.
        "init start",
        "init complete",
        " nranks ",
        "set by environment to",
        ", using default",
        " via p2p",
        " via shm",
        " via net",
        " via collnet",
        " via nvls",
        "nccl warn",
        "nccl attn",
        "nccl version ",
        "using network ",
        "bootstrap: using",
        "bootstrap : using",
        "connected all ",
        "nccl info ras ",
    ),
)
