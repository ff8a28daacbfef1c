"""How the GPUs reach each other: `nvidia-smi topo -m`, and what people write of it."""

import re
from collections.abc import Sequence

from qops.evidence.gpu import Pair, Path, Topology
from qops.evidence.text import Quote, Text
from qops.pattern import lazy
from qops.probes.base import Command, Probe
from qops.probes.prefix import LONGEST, strip

_MOST_GPUS = 128
_MOST_RANGES = 8  # in one text
_GPU = lazy(r"GPU[0-9]{1,3}", re.ASCII)
_DEVICE = lazy(r"(?:GPU|NIC)[0-9]{1,3}|(?:mlx|bnxt|roce|rocep|ib|hfi|irdma|rdma)\w{1,30}", re.ASCII)
_CELL = lazy(r"X|NV[0-9]{1,2}|PIX|PXB|PHB|NODE|SYS|SOC", re.ASCII)
_NUMA = lazy(r"[0-9]{1,4}(?:[-,][0-9]{1,4}){0,16}", re.ASCII)
_LEGEND = lazy(r"\s*(NIC[0-9]{1,3}): +([\w.-]{2,40})\s*", re.ASCII)
_PATH = r"(NV[0-9]{1,2}|PIX|PXB|PHB|NODE|SYS)\b"
_WRITTEN = lazy(
    r"\bGPU ?([0-9]{1,3}) ?(?:<-{1,2}>|-{1,2}>?|–|↔|<=>|to|and|/|,) ?GPU ?([0-9]{1,3}) ?[:=]? ?(?:is |via )?" + _PATH,
    re.ASCII,
)
_EVERY = lazy(
    r"\bGPU ?([0-9]{1,3}) ?(?:\.{2,3}|-|–|to) ?(?:GPU ?)?([0-9]{1,3}) ?[:=]? ?"
    + _PATH
    + r" ?(?:\(?(?:for|between|on|in) )?(?:every|all|each)\b",
    re.ASCII,
)
CLUE = lazy(
    r"(?:\bGPU ?[0-9]{1,3}\b.{0,80}?|\b(?:NIC|mlx|bnxt|roce|ib|hfi|irdma|rdma)\w{1,30})\b\W{0,80}?"
    r"\b(?:X|NV[0-9]{1,2}|PIX|PXB|PHB|NODE|SYS|SOC)\b|CPU Affinity",
    re.ASCII,
)


def parse(texts: Sequence[Text]) -> Topology | None:
    """Return every pair that any text names, each once: the first that says something about it stays."""
    found = _Found()
    for text in texts:
        _matrix(text, found)
        _written(text, found)
    if not (found.pairs or found.nic_pairs or found.numa):
        return None
    return Topology(
        tuple(found.pairs.values()),
        tuple(found.nic_pairs.values()),
        tuple(found.numa.items()),
        tuple(found.nics.items()),
    )


class _Found:
    """What was found so far, by name, in the order in which it was said."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[str, str], Pair] = {}
        self.nic_pairs: dict[tuple[str, str], Pair] = {}
        self.numa: dict[str, str] = {}
        self.nics: dict[str, str] = {}

    def pair(self, a: str, b: str, cell: str, quote: Quote) -> None:
        """Note the path between two devices; GPU first, the lower number first."""
        if a == b or cell == "X":
            return
        links = int(cell[2:]) if cell.startswith("NV") else 0
        path = Path.NV if links else Path("SYS" if cell == "SOC" else cell) if cell[:2] != "NV" else None
        if path is None:  # NV0 is no link
            return
        both = _GPU.fullmatch(a) and _GPU.fullmatch(b)
        swap = int(a[3:]) > int(b[3:]) if both else _GPU.fullmatch(b)
        if swap:
            a, b = b, a
        if both:
            self.pairs.setdefault((a, b), Pair(a, b, path, quote, links))
        elif _GPU.fullmatch(a):
            self.nic_pairs.setdefault((a, b), Pair(a, b, path, quote, links))


def _matrix(text: Text, found: _Found) -> None:
    columns: list[str] = []
    numa_at: int | None = None  # the tab-separated column of the NUMA node
    for index, raw in enumerate(text.lines):
        line = strip(raw)
        tokens = line.split(None, 400)
        if not tokens:
            continue
        legend = _LEGEND.fullmatch(line)
        if legend:
            found.nics.setdefault(legend[1], legend[2])
            continue
        if _GPU.fullmatch(tokens[0]) and (len(tokens) == 1 or not _CELL.fullmatch(tokens[1])):
            columns = _leading(tokens, _DEVICE)
            cells = [cell.strip() for cell in line.split("\t")]
            numa_at = cells.index("NUMA Affinity") if "NUMA Affinity" in cells else None
            continue
        if not _DEVICE.fullmatch(tokens[0]):
            continue
        paths = _leading(tokens[1:], _CELL)
        if not paths or not (columns or _GPU.fullmatch(tokens[0])):
            continue
        named = columns or _columns(tokens[0], paths)
        for name, cell in zip(named, paths, strict=False):
            found.pair(tokens[0], name, cell, text.quote(index))
        rest = tokens[1 + len(paths) :]
        node = rest[1] if len(rest) > 1 else ""
        if numa_at is not None and "\t" in line:
            cells = [cell.strip() for cell in line.split("\t")]
            node = cells[numa_at] if numa_at < len(cells) else ""
        if _GPU.fullmatch(tokens[0]) and _NUMA.fullmatch(node):
            found.numa.setdefault(tokens[0], node)


def _leading(tokens: Sequence[str], pattern: re.Pattern[str]) -> list[str]:
    """Return the tokens at the start that match `pattern`."""
    leading: list[str] = []
    for token in tokens:
        if not pattern.fullmatch(token):
            break
        leading.append(token)
    return leading


def _columns(row: str, paths: Sequence[str]) -> list[str]:
    """Return column names for a row whose header was not pasted; only an X in its own place makes them sure."""
    own = int(row[3:])
    if own >= len(paths) or paths[own] != "X":
        return []
    # How many of the columns are GPUs is not said; NVLink cells are, and what comes before the row's own place.
    gpus = max([own] + [place for place, cell in enumerate(paths) if cell.startswith("NV")]) + 1
    return [f"GPU{n}" for n in range(gpus)]


def _written(text: Text, found: _Found) -> None:
    said: set[tuple[str, ...]] = set()
    for index, line in enumerate(text.lines):
        if "GPU" not in line or len(line) > LONGEST:
            continue
        for a, b, cell in _WRITTEN.findall(line):
            found.pair(f"GPU{int(a)}", f"GPU{int(b)}", cell, text.quote(index))
        every = _EVERY.search(line)
        if every and every.groups() not in said and len(said) < _MOST_RANGES:
            said.add(every.groups())
            _range(int(every[1]), int(every[2]), every[3], text.quote(index), found)


def _range(first: int, last: int, cell: str, quote: Quote, found: _Found) -> None:
    if not first < last < _MOST_GPUS:
        return
    names = [f"GPU{n}" for n in range(first, last + 1)]
    for place, a in enumerate(names):
        for b in names[place + 1 :]:
            found.pair(a, b, cell, quote)


def recognise(text: Text) -> bool:
    """Whether a line names a GPU beside a path, or is the header of the matrix."""
    return any(CLUE.search(line[:LONGEST]) for line in text.lines)


PROBE = Probe(
    name="topology",
    makes=Topology,
    parse=parse,
    recognise=recognise,
    asks=(Command(("nvidia-smi", "topo", "-m"), "the path between each two GPUs, and between GPUs and NICs"),),
)
