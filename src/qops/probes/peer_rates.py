"""How fast GPUs reach each other with P2P on: the matrices of CUDA's p2pBandwidthLatencyTest."""

import re
from collections.abc import Sequence

from qops.evidence.gpu import PeerRate, PeerRates
from qops.evidence.text import Text
from qops.pattern import lazy
from qops.probes.base import Probe

_HEAD = lazy(r"^\s*(Unidirectional|Bidirectional) P2P=(Enabled|Disabled)\b.{0,40}Bandwidth.{0,40}Matrix", re.ASCII)
_NUMBER = lazy(r"[0-9]{1,6}(?:\.[0-9]{1,4})?", re.ASCII)
_WIDEST = 128  # GPUs
_SIGN = " P2P=Enabled "


def parse(texts: Sequence[Text]) -> PeerRates | None:
    """Return every pair of the unidirectional matrix with P2P on (the other one, when it alone was pasted)."""
    one_way: list[PeerRate] = []
    both_ways: list[PeerRate] = []
    for text in texts:
        into: list[PeerRate] | None = None
        for index, line in enumerate(text.lines):
            if "P2P=" in line:
                head = _HEAD.match(line[:200])
                wanted = head is not None and head[2] == "Enabled"
                into = (one_way if head and head[1] == "Unidirectional" else both_ways) if wanted else None
                continue
            if into is None or len(line) > 4000:
                continue
            cells = line.split(None, _WIDEST + 1)
            if not cells or cells[0].startswith("D"):
                continue
            if len(cells) < 3 or not all(_NUMBER.fullmatch(cell) for cell in cells) or "." in cells[0]:
                into = None
                continue
            row = int(cells[0])
            for column, cell in enumerate(cells[1:]):
                if column != row and row < _WIDEST:
                    into.append(PeerRate(f"GPU{row}", f"GPU{column}", float(cell), text.quote(index)))
    rates = one_way or both_ways
    return PeerRates(tuple(rates)) if rates else None


def recognise(text: Text) -> bool:
    """Whether `text` holds the head of such a matrix."""
    return any(_SIGN in line for line in text.lines)


PROBE = Probe(name="peer_rates", makes=PeerRates, parse=parse, recognise=recognise)
