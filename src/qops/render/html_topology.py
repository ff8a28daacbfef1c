"""The topology of a host as a drawing: GPUs on a circle, network cards outside, lines by how data goes."""

import math
from collections import Counter
from dataclasses import dataclass

from qops.derive.picture import Picture
from qops.evidence.gpu import Pair, Path, Topology

SIZE = 420  # of the square that is drawn in, in SVG units
_MIDDLE = SIZE / 2
_GPUS = 115.0  # radius of the circle of GPUs
_NICS = 180.0  # radius of the circle of network cards
_APART = math.pi / 7.5  # angle between two network cards of one GPU, so that their boxes do not cover each other
_LABELLED = 6  # lines that are labelled one by one; more would cover each other
_NAMES = {
    Path.NV: "NVLink",
    Path.PIX: "PIX: one PCIe switch",
    Path.PXB: "PXB: several PCIe switches",
    Path.PHB: "PHB: through the processor's host bridge",
    Path.NODE: "NODE: between host bridges of one NUMA node",
    Path.SYS: "SYS: between NUMA nodes",
}
_NEAR = {path: place for place, path in enumerate(_NAMES)}


@dataclass(frozen=True, slots=True)
class Node:
    """A GPU or a network card with the middle of its box."""

    name: str
    x: float
    y: float
    nic: bool
    label: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A line between two nodes. `kind` is the name of a `Path` in lower case, `label` what is written on it, or ""."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A topology as shapes, as the words that say the same, and as rows of (device, device, path)."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    legend: tuple[tuple[str, str], ...]  # (kind, what it means), nearest first
    words: str
    rows: tuple[tuple[str, str, str], ...]
    boards: tuple[tuple[str, str], ...]  # (GPU0, name and NUMA node)
    size: int = SIZE


def drawing(picture: Picture) -> Drawing | None:
    """Return the drawing of a host's topology; None when nobody asked for it and there are no GPUs to show."""
    topology = picture.topology or Topology(())
    names = dict.fromkeys(f"GPU{index}" for index, _ in picture.boards)
    names |= dict.fromkeys(name for pair in topology.pairs for name in (pair.a, pair.b))
    if not names:
        return None
    cards = _nearest(topology)
    nodes = _nodes(tuple(names), cards, dict(topology.nics))
    at = {node.name: node for node in nodes}
    drawn = [*topology.pairs, *cards.values()]
    labelled = len(drawn) <= _LABELLED
    edges = tuple(
        Edge(
            at[pair.a].x,
            at[pair.a].y,
            at[pair.b].x,
            at[pair.b].y,
            pair.path.name.lower(),
            _path(pair) if labelled else "",
        )
        for pair in sorted(drawn, key=lambda pair: -_NEAR.get(pair.path, 0))  # the nearest paths are drawn on top
        if pair.a in at and pair.b in at and pair.path is not Path.SELF
    )
    counts = Counter(_NAMES.get(pair.path, str(pair.path)) for pair in topology.pairs)
    said = "; ".join(f"{count} GPU pairs by {name}" for name, count in counts.items())
    boards = dict(picture.boards)
    numa = dict(topology.numa)
    return Drawing(
        nodes=nodes,
        edges=edges,
        legend=tuple((p.name.lower(), text) for p, text in _NAMES.items() if any(pair.path is p for pair in drawn)),
        words=f"{len(names)} GPUs{f' and {len(cards)} network cards' if cards else ''}: {said or 'no paths were seen'}",
        rows=tuple((pair.a, pair.b, _path(pair)) for pair in (*topology.pairs, *topology.nic_pairs)),
        boards=tuple(
            (
                name,
                ", ".join(
                    part
                    for part in (
                        boards.get(int(name[3:]), "") if name[3:].isdigit() else "",
                        f"NUMA node {numa[name]}" if name in numa else "",
                    )
                    if part
                ),
            )
            for name in names
        ),
    )


def _path(pair: Pair) -> str:
    return f"NV{pair.links}" if pair.path is Path.NV and pair.links else str(pair.path)


def _nearest(topology: Topology) -> dict[str, Pair]:
    """Return each network card's nearest way to a GPU."""
    found: dict[str, Pair] = {}
    for pair in topology.nic_pairs:
        card, gpu = (pair.a, pair.b) if pair.b.startswith("GPU") else (pair.b, pair.a)
        if not gpu.startswith("GPU") or card.startswith("GPU") or pair.path not in _NEAR:
            continue
        if card not in found or _NEAR[pair.path] < _NEAR[found[card].path]:
            found[card] = Pair(card, gpu, pair.path, pair.quote, pair.links)
    return found


def _nodes(gpus: tuple[str, ...], cards: dict[str, Pair], legend: dict[str, str]) -> tuple[Node, ...]:
    angles = {name: 2 * math.pi * place / len(gpus) - math.pi / 2 for place, name in enumerate(gpus)}
    nodes = [_node(name, angle, _GPUS if len(gpus) > 1 else 0.0, name) for name, angle in angles.items()]
    for gpu, angle in angles.items():
        mine = [name for name, pair in cards.items() if pair.b == gpu]
        for place, name in enumerate(mine):
            turn = (place - (len(mine) - 1) / 2) * _APART
            nodes.append(_node(name, angle + turn, _NICS, legend.get(name, name), nic=True))
    return tuple(nodes)


def _node(name: str, angle: float, radius: float, label: str, *, nic: bool = False) -> Node:
    x, y = _MIDDLE + radius * math.cos(angle), _MIDDLE + radius * math.sin(angle)
    return Node(name, round(x, 1), round(y, 1), nic, label)
