"""Reads a pickle that holds plain values only, without ever running any of it.

A pickle is a program that can call anything. This machine knows only the instructions of protocols 2 to 5 that build
None, booleans, numbers, strings, bytes, lists, tuples and dicts; every other one (GLOBAL, REDUCE, BUILD, persistent
ids, …) is refused by name before its argument is even read. It allocates in proportion to the bytes that are there: a
length or memo number that is merely claimed costs nothing, which is not so with `pickle.Unpickler`. The instructions
and their arguments are those of Python's Lib/pickletools.py.
"""

import struct
from collections.abc import Callable
from typing import Any

MOST_BYTES = 128 * 1024 * 1024
MOST_STEPS = 4_000_000  # instructions; the 2,000 collectives that torch keeps by default need some 500,000
LONGEST_INTEGER = 64  # bytes


class NotPlainError(Exception):
    """The pickle is damaged, too large, or holds something other than plain values. Says what and where."""


def load(data: bytes) -> Any:
    """Return the value in `data`; raise `NotPlainError` for anything that is not plain."""
    if len(data) > MOST_BYTES:
        raise NotPlainError(f"it has {len(data)} bytes, more than {MOST_BYTES}")
    machine = _Machine(data)
    for _ in range(MOST_STEPS):
        start = machine.position
        if start >= len(data):
            raise NotPlainError("it ends too early")
        code = data[start]
        machine.position += 1
        if code == _STOP:
            return machine.result()
        step = _STEPS.get(code)
        if step is None:
            import pickletools  # only to name what is refused

            name = next((op.name for op in pickletools.opcodes if op.code == chr(code)), f"0x{code:02x}")
            raise NotPlainError(f"byte {start} is the instruction {name}, which no plain value needs")
        try:
            step(machine)
        except (ValueError, LookupError) as error:
            raise NotPlainError(f"it is damaged at byte {start} ({type(error).__name__})") from None
    raise NotPlainError(f"it has more than {MOST_STEPS} instructions")


class _Machine:
    """The stack and the memo of the pickle protocol, and where it is in the bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # stacks that wait under a MARK
        self.memo: dict[int, Any] = {}

    def take(self, length: int) -> bytes:
        """Return the next `length` bytes."""
        begin = self.position
        self.position = end = begin + length
        if end > len(self.data):
            raise NotPlainError(f"it claims {length} bytes at byte {begin} and ends before")
        return self.data[begin:end]

    def number(self, size: int) -> int:
        """Return the next unsigned number of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def marked(self) -> list[Any]:
        """Return what was put on the stack since the last MARK."""
        found = self.stack
        self.stack = self.below.pop()
        return found

    def result(self) -> Any:
        """Return the only value that is left."""
        if len(self.stack) != 1 or self.below:
            raise NotPlainError("values are left over at its end")
        return self.stack[0]


Step = Callable[[_Machine], None]


def _integer(size: int, signed: bool) -> Step:
    return lambda m: m.stack.append(int.from_bytes(m.take(size), "little", signed=signed))


def _long(size: int) -> Step:
    def step(m: _Machine) -> None:
        length = m.number(size)
        if length > LONGEST_INTEGER:
            raise NotPlainError(f"an integer of {length} bytes")
        m.stack.append(int.from_bytes(m.take(length), "little", signed=True))

    return step


def _text(size: int) -> Step:
    return lambda m: m.stack.append(m.take(m.number(size)).decode("utf-8", "surrogatepass"))


def _bytes(size: int) -> Step:
    return lambda m: m.stack.append(m.take(m.number(size)))


def _new(make: Callable[[], Any]) -> Step:
    return lambda m: m.stack.append(make())


def _skip(size: int) -> Step:
    def step(m: _Machine) -> None:
        m.take(size)

    return step


def _get(size: int) -> Step:
    return lambda m: m.stack.append(m.memo[m.number(size)])


def _put(size: int) -> Step:
    def step(m: _Machine) -> None:
        m.memo[m.number(size)] = m.stack[-1]

    return step


def _tuple(length: int) -> Step:
    def step(m: _Machine) -> None:
        if len(m.stack) < length:
            raise NotPlainError("a tuple has too few values")
        values = tuple(m.stack[-length:])
        del m.stack[-length:]
        m.stack.append(values)

    return step


def _float(m: _Machine) -> None:
    m.stack.append(struct.unpack(">d", m.take(8))[0])


def _mark(m: _Machine) -> None:
    m.below.append(m.stack)
    m.stack = []


def _memoize(m: _Machine) -> None:
    m.memo[len(m.memo)] = m.stack[-1]


def _append(m: _Machine) -> None:
    value = m.stack.pop()
    _extend(m.stack[-1], [value])


def _appends(m: _Machine) -> None:
    values = m.marked()
    _extend(m.stack[-1], values)


def _set_item(m: _Machine) -> None:
    value, key = m.stack.pop(), m.stack.pop()
    _fill(m.stack[-1], [key, value])


def _set_items(m: _Machine) -> None:
    pairs = m.marked()
    _fill(m.stack[-1], pairs)


def _marked_tuple(m: _Machine) -> None:
    values = m.marked()
    m.stack.append(tuple(values))


def _extend(target: Any, values: list[Any]) -> None:
    if not isinstance(target, list):
        raise NotPlainError("it appends to something that is no list")
    target.extend(values)


def _fill(target: Any, pairs: list[Any]) -> None:
    if not isinstance(target, dict) or len(pairs) % 2:
        raise NotPlainError("it sets items of something that is no dictionary")
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        # Only keys whose hash is a matter of one step: the hash of a deeply nested tuple exhausts the C stack.
        if key is not None and not isinstance(key, str | int | float | bytes):
            raise NotPlainError("a key is neither text nor number")
        target[key] = value


_STOP = ord(".")
_STEPS: dict[int, Step] = {
    ord(code): step
    for code, step in {
        "\x80": _skip(1),  # PROTO
        "\x95": _skip(8),  # FRAME: its length is a hint for readers of streams
        "N": _new(lambda: None),
        "\x88": _new(lambda: True),
        "\x89": _new(lambda: False),
        "]": _new(list),
        "}": _new(dict),
        ")": _new(tuple),
        "J": _integer(4, True),
        "K": _integer(1, False),
        "M": _integer(2, False),
        "\x8a": _long(1),
        "\x8b": _long(4),
        "G": _float,
        "\x8c": _text(1),
        "X": _text(4),
        "\x8d": _text(8),
        "C": _bytes(1),
        "B": _bytes(4),
        "\x8e": _bytes(8),
        "(": _mark,
        "h": _get(1),
        "j": _get(4),
        "q": _put(1),
        "r": _put(4),
        "\x94": _memoize,
        "a": _append,
        "e": _appends,
        "s": _set_item,
        "u": _set_items,
        "t": _marked_tuple,
        "\x85": _tuple(1),
        "\x86": _tuple(2),
        "\x87": _tuple(3),
    }.items()
}
