"""Very large texts, reduced in one pass to the lines that any parser may want.

Kept are the first 256 KiB and the last 4 MiB whole, and between them the lines that hold a known literal: of each
literal the first and the last 2,000 lines. What is kept has a bound, so memory does not grow with the text.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, field

from qops.transports.base import clean

LARGE = 16 << 20  # bytes; a text that is longer is reduced
BLOCK = 2 << 20  # bytes read at once: larger ones fall out of the processor's cache and are slower
HEAD = 256 << 10  # bytes kept whole at the start
TAIL = 4 << 20  # bytes kept whole at the end
LINE = 64 << 10  # bytes; longer lines are cut
EACH = 2000  # lines kept of one literal at the start, and again at the end
KEPT = 48 << 20  # bytes of lines kept in all; `EACH` shrinks when literals are so common that this is not enough

Find = Callable[[bytes], Sequence[tuple[int, int, int]]]
"""Finds literals in lower-cased bytes: (index of the literal, position of its first byte, position after it)."""


class Reduced(Struct, frozen=True):
    """The lines that were kept, each with its number in the original, and the size of that in bytes."""

    lines: tuple[str, ...]
    numbers: tuple[int, ...]
    size: int
    last_line: str


class _Literal(Struct):
    """The lines of one literal, by number: the first ones counted, the last ones in a ring."""

    first: int = 0
    at: int = 0  # its newest line
    last: deque[int] = field(default_factory=deque)


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Cut `blocks` anew so that each one ends with a line; a line without end is cut after 64 KiB."""
    rest = b""
    for block in _small(blocks):
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end : end + LINE]
        elif len(rest) < LINE:
            rest = (rest + block)[:LINE]
    if rest:
        yield rest


def _small(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        if len(block) <= BLOCK:
            yield block
        else:
            yield from (block[at : at + BLOCK] for at in range(0, len(block), BLOCK))


class _Block(Struct):
    """Whole lines. `later` holds matches of literals that have their first lines: these may count among the last."""

    line: int  # number of its first line
    data: bytes
    later: dict[int, list[int]] = field(default_factory=dict)  # literal to positions


class _Reducer:
    def __init__(self, find: Find) -> None:
        self.find = find
        self.each = EACH
        self.kept: dict[int, bytes] = {}  # line number to line
        self.bytes = 0
        self.uses: dict[int, int] = {}  # line number to how many literals want it among their last; else it is pinned
        self.literals: dict[int, _Literal] = {}
        self.tail: deque[_Block] = deque()
        self.tail_bytes = 0
        self.seen = 0  # bytes
        self.line = 1  # number of the next block's first line

    def add(self, data: bytes) -> None:
        block = _Block(self.line, data)
        if self.seen < HEAD:
            head = data[: data.find(b"\n", HEAD - self.seen - 1) + 1 or len(data)]
            for number, line in enumerate(head.removesuffix(b"\n").split(b"\n"), self.line):
                self.keep(number, line, pinned=True)
        self.scan(block)
        self.tail.append(block)
        self.tail_bytes += len(data)
        while self.tail_bytes - len(self.tail[0].data) >= TAIL:
            oldest = self.tail.popleft()
            self.tail_bytes -= len(oldest.data)
            self.settle(oldest)
        self.seen += len(data)
        self.line += data.count(b"\n")
        while self.bytes > KEPT and self.each > 1:
            self.each //= 2
            self.shrink()

    def scan(self, block: _Block) -> None:
        full: dict[int, list[int]] = {i: [] for i, literal in self.literals.items() if literal.first >= self.each}
        first: list[tuple[int, int]] = []
        for index, start, _ in self.find(block.data.lower()):
            later = full.get(index)
            if later is None:
                first.append((start, index))
            else:
                later.append(start)
        self.mark(block, first)
        for index, starts in full.items():
            if not starts:
                continue
            # Matches are counted here, not lines: of a literal that stands twice in its lines fewer may be kept.
            block.later[index] = starts[-self.each :]
            newer = len(starts)
            for older in reversed(self.tail):  # what is older than enough others is never looked at
                if newer >= self.each:
                    older.later.pop(index, None)
                newer += len(older.later.get(index, ()))
            if newer >= self.each:
                ring = self.literals[index].last
                while ring:
                    self.release(ring.popleft())

    def settle(self, block: _Block) -> None:
        """Decide on the matches that were left for later."""
        self.mark(block, [(start, index) for index, starts in block.later.items() for start in starts])

    def mark(self, block: _Block, matches: list[tuple[int, int]]) -> None:
        """Keep the lines of `matches`: (position, literal)."""
        matches.sort()
        end, at, number, line = -1, 0, block.line, b""
        for start, index in matches:
            if start >= end:
                begin = block.data.rfind(b"\n", 0, start) + 1
                end = block.data.find(b"\n", start)
                end = end if end >= 0 else len(block.data)
                number += block.data.count(b"\n", at, begin)
                at = begin
                line = block.data[begin : min(end, begin + LINE)]
            literal = self.literals.setdefault(index, _Literal())
            if literal.at == number:
                continue
            literal.at = number
            if literal.first < self.each:
                literal.first += 1
                self.keep(number, line, pinned=True)
                continue
            literal.last.append(number)
            self.keep(number, line, pinned=False)
            if len(literal.last) > self.each:
                self.release(literal.last.popleft())

    def keep(self, number: int, line: bytes, *, pinned: bool) -> None:
        if number not in self.kept:
            self.kept[number] = line[:LINE]
            self.bytes += len(self.kept[number])
            if not pinned:
                self.uses[number] = 1
        elif pinned:
            self.uses.pop(number, None)
        elif number in self.uses:
            self.uses[number] += 1

    def release(self, number: int) -> None:
        uses = self.uses.get(number)
        if uses is None:
            return  # it is kept for another reason
        if uses > 1:
            self.uses[number] = uses - 1
            return
        del self.uses[number]
        self.bytes -= len(self.kept.pop(number))

    def shrink(self) -> None:
        """Keep fewer lines of every literal: the oldest of the last ones go, and the newest of the first ones."""
        for literal in self.literals.values():
            while len(literal.last) > self.each:
                self.release(literal.last.popleft())
        pinned = [number for number in self.kept if number not in self.uses]
        for number in pinned[len(pinned) // 2 :]:
            self.bytes -= len(self.kept.pop(number))

    def finish(self) -> Reduced:
        for block in self.tail:
            self.settle(block)
        last = b""
        skip = self.tail_bytes - TAIL
        for block in self.tail:
            data, begin = block.data, 0
            if skip > 0:  # the oldest block is kept from its first whole line within the tail on
                begin = data.find(b"\n", skip - 1) + 1 or len(data)
                skip = 0
            number = block.line + data.count(b"\n", 0, begin)
            rest = data[begin:].removesuffix(b"\n").split(b"\n") if begin < len(data) else []
            for offset, line in enumerate(rest):
                self.kept[number + offset] = line[:LINE]
                last = line[:LINE] if line.strip() else last
        numbers = tuple(sorted(self.kept))
        kept = _lines([self.kept.pop(number) for number in numbers])
        return Reduced(kept, numbers, self.seen, _lines([last])[0])


def _lines(raw: Sequence[bytes]) -> tuple[str, ...]:
    """Decode and clean lines, as many as there are."""
    text = b"\n".join(raw).decode("utf-8", errors="replace").removeprefix("\ufeff")
    return tuple(clean(text).split("\n")) if raw else ()


def reduce(blocks: Iterable[bytes], find: Find) -> Reduced:
    """Read `blocks` once and keep what parsers may want; `find` finds their literals.

    Memory: a few blocks and at most about twice `KEPT`, whatever the size of the text.
    """
    reducer = _Reducer(find)
    for block in whole_lines(blocks):
        reducer.add(block)
    return reducer.finish()
