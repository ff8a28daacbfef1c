"""The result of `qops probe p2p`: the file that it leaves on a host, and the lines that the program in it prints."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from qops.errors import ParseError
from qops.evidence.peer_probe import Outcome, PeerArm, PeerGroup, PeerProbe, PeerSize
from qops.evidence.text import Text
from qops.probes.base import Probe, Read
from qops.probes.nccl_lines import CHANNEL, SET
from qops.transports.base import clean

PLACE = "/var/lib/qops/probes/p2p.json"
MARK = '{"qops_probe":"p2p"'  # how the one line of such a file begins
LONGEST = 4 << 20  # characters; 16 GPUs have 120 pairs and some 200 characters for each size


def recognise(text: Text) -> bool:
    """Whether a line is such a result."""
    return any(line.startswith(MARK) for line in text.lines)


def parse(texts: Sequence[Text]) -> PeerProbe | None:
    """Return the newest result; ParseError for one that is no such document."""
    found: list[PeerProbe] = []
    for text in texts:
        for index, line in enumerate(text.lines):
            if line.startswith(MARK):
                found.append(_read(text, index))
    return max(found, key=lambda probe: probe.at, default=None)


def _read(text: Text, index: int) -> PeerProbe:
    quote = msgspec.structs.replace(text.quote(index), text=text.lines[index][:200])
    try:
        if len(text.lines[index]) > LONGEST:
            raise ValueError("too long")
        said = json.loads(text.lines[index])
        return msgspec.convert({**said, "quote": quote}, PeerProbe)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise ParseError(text.source, text.number(index), f"no result of a probe: {error}") from None


def written(probe: PeerProbe) -> str:
    """Return the file of a result: one line, without its quote."""
    said = msgspec.to_builtins(probe)
    del said["quote"]
    return json.dumps({"qops_probe": "p2p", **said}, separators=(",", ":")) + "\n"


class _Group(Struct):
    transports: dict[str, None] = field(default_factory=dict)
    begun: dict[int, int] = field(default_factory=dict)  # size to ranks
    seconds: dict[int, list[float]] = field(default_factory=dict)
    wrong: dict[int, int] = field(default_factory=dict)


class Attempt(Struct, frozen=True):
    """What the program of one attempt printed. `versions` has torch, cuda and nccl; `refused` why it did not begin."""

    groups: tuple[PeerGroup, ...]
    versions: Mapping[str, str]
    settings: Mapping[str, str]
    refused: str
    said: str  # the last line that is none of its own, and names an error where one does
    ended: int  # ranks that came to the end


def attempt(lines: Iterable[str], gpus: Sequence[int]) -> Attempt:
    """Read the lines of the program. `gpus` are the host's indexes of its ranks. Total: other lines are skipped."""
    groups: dict[tuple[int, ...], _Group] = {}
    current: dict[int, tuple[int, ...]] = {}
    versions: dict[str, str] = {}
    settings: dict[str, str] = {}
    refused = last = ""
    ended = 0
    for row in lines:
        said = _object(row)
        rank, event = said.get("rank"), said.get("event")
        if not isinstance(rank, int):
            continue
        if event in ("begin", "done"):
            members = tuple(g for g in said.get("gpus") or () if isinstance(g, int) and 0 <= g < len(gpus))
            current[rank] = tuple(gpus[g] for g in members)
            _size(groups.setdefault(current[rank], _Group()), event, said, len(members))
        elif event == "start":
            versions |= {k: clean(str(said.get(k, "")))[:40] for k in ("torch", "cuda", "nccl")}
        elif event in ("no torch", "no gpus"):
            refused = f"{event}: {clean(str(said.get('why', '')))[:300]}"
        elif event == "end":
            ended += 1
        elif isinstance(said.get("nccl"), str):
            _nccl(said["nccl"], groups.get(current.get(rank, ())), settings)
        elif isinstance(said.get("said"), str) and said["said"].strip():
            line = clean(said["said"].strip())[:300]
            # Of a traceback the line that names the error; ranks print over each other.
            last = line if "error" in line.lower() or "error" not in last.lower() else last
    made = tuple(_group(members, group) for members, group in groups.items())
    return Attempt(made, versions, settings, refused, last, ended)


def _size(group: _Group, event: str, said: Mapping[str, Any], members: int) -> None:
    size, wrong, seconds = said.get("bytes"), said.get("wrong"), said.get("seconds")
    if not isinstance(size, int):
        return
    if event == "begin":
        group.begun[size] = members
    elif isinstance(wrong, int) and isinstance(seconds, (int, float)):
        group.seconds.setdefault(size, []).append(float(seconds))
        group.wrong[size] = group.wrong.get(size, 0) + wrong


def _nccl(line: str, group: _Group | None, settings: dict[str, str]) -> None:
    if group is not None and (match := CHANNEL.search(line)):
        group.transports[clean(match["transport"]).split(" comm ")[0].strip()[:60]] = None
    # Also what NCCL read from a file of its own, which no environment shows.
    if (match := SET.search(line)) and not match["name"].startswith("NCCL_DEBUG"):
        settings[match["name"]] = clean(match["value"]).strip()[:100]


def _group(members: tuple[int, ...], group: _Group) -> PeerGroup:
    sizes = []
    for size, ranks in group.begun.items():
        seconds = group.seconds.get(size, [])
        whole = len(seconds) == ranks  # every rank got through
        sizes.append(PeerSize(size, max(seconds) if whole else None, group.wrong.get(size)))
    return PeerGroup(members, tuple(group.transports), tuple(sizes))


def _object(line: str) -> Mapping[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def outcome(attempt: Attempt, *, ranks: int, in_time: bool) -> Outcome:
    """Return how an attempt ended. Wrong data wins: it is worse than a hang, and may be what led to one."""
    if any(size.wrong for group in attempt.groups for size in group.sizes):
        return Outcome.WRONG
    if not in_time:
        return Outcome.HUNG if attempt.groups else Outcome.FAILED
    return Outcome.RIGHT if attempt.ended == ranks and attempt.groups else Outcome.FAILED


def arm(name: str, environment: Mapping[str, str], found: Attempt, ended: Outcome, seconds: float) -> PeerArm:
    """Return one attempt as evidence."""
    error = (found.refused or found.said) if ended is Outcome.FAILED else ""
    return PeerArm(name, ended, {**found.settings, **environment}, round(seconds, 1), found.groups, error)


PROBE = Probe(
    name="peer_probe",
    makes=PeerProbe,
    parse=parse,
    recognise=recognise,
    asks=(Read(PLACE, "what `qops probe p2p` measured on this machine, if it was ever run"),),
    families=("nccl", "serve"),
)
