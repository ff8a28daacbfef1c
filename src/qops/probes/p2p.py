"""What the driver permits between two GPUs: `nvidia-smi topo -p2p`, and what people write of it."""

import re
from collections.abc import Sequence

from qops.evidence.gpu import P2pPair, P2pStatus
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.prefix import LONGEST, strip

_ASKED = lazy(r"(?:-p2p|--p2pstatus)[ =_-]([rwnap])\b")  # also a file named after the command
_NAMED = lazy(r"\bp2p[-_ ]([rwnap])\b")
_GPU = lazy(r"GPU[0-9]{1,3}", re.ASCII)
_STATUS = r"(OK|CNS|GNS|TNS|NS|DR|U)"
_CELL = lazy(rf"X|{_STATUS}")
_WRITTEN = lazy(
    rf"\bGPU ?([0-9]{{1,3}}) ?(?:<-{{1,2}}>|-{{1,2}}>?|–|↔|<=>|to|and|/|,) ?GPU ?([0-9]{{1,3}})(?: ?[:=] ?| is | )"
    rf"{_STATUS}(?![\w/])",
    re.ASCII,
)
CLUE = lazy(rf"\bGPU ?[0-9]{{1,3}}\b.{{0,40}}?[\s:=]{_STATUS}(?![\w/])|-p2p [rwnap]\b", re.ASCII)
_MEANING = {"r": "read", "w": "write", "n": "go over NVLink", "a": "do atomics", "p": "go over PCIe"}


def parse(texts: Sequence[Text]) -> P2pStatus | None:
    """Return every pair with its status, each once for each capability; the lower GPU first."""
    found: dict[tuple[str, str, str], P2pPair] = {}
    for text in texts:
        asked = _ASKED.search(text.source) or _NAMED.search(text.source)
        capability = asked[1] if asked else ""
        columns: list[str] = []
        for index, raw in enumerate(text.lines):
            line = strip(raw)
            asked = _ASKED.search(line)
            if asked:
                capability, columns = asked[1], []
                continue
            if "GPU" not in line:
                continue
            tokens = line.split(None, 400)
            if all(_GPU.fullmatch(token) for token in tokens):
                columns = tokens
                continue
            pairs: list[tuple[str, str, str]] = []
            if _GPU.fullmatch(tokens[0]) and len(tokens) > 1 and all(_CELL.fullmatch(t) for t in tokens[1:]):
                named = columns or [f"GPU{n}" for n in range(len(tokens) - 1)]
                pairs += [(tokens[0], b, cell) for b, cell in zip(named, tokens[1:], strict=False)]
            if line.count("GPU") > 1:
                pairs += [(f"GPU{int(a)}", f"GPU{int(b)}", cell) for a, b, cell in _WRITTEN.findall(line)]
            for a, b, status in pairs:
                if status == "X" or a == b:
                    continue
                low, high = sorted((a, b), key=lambda name: int(name[3:]))
                key = (low, high, capability)
                worse = key in found and found[key].status == "OK" and status != "OK"
                if key not in found or worse:  # one direction can be refused
                    found[key] = P2pPair(low, high, capability, status, text.quote(index))
    return P2pStatus(tuple(found.values())) if found else None


def recognise(text: Text) -> bool:
    """Whether a line names a GPU beside a status."""
    return any(CLUE.search(line[:LONGEST]) for line in text.lines)


PROBE = Probe(
    name="p2p",
    makes=P2pStatus,
    parse=parse,
    recognise=recognise,
    asks=tuple(
        Command(("nvidia-smi", "topo", "-p2p", letter), f"whether the driver lets GPUs {meaning} each other's memory")
        if letter in "rw"
        else Command(("nvidia-smi", "topo", "-p2p", letter), f"whether the driver lets peer access {meaning}")
        for letter, meaning in _MEANING.items()
    ),
)
