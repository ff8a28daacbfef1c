"""What one loose file is (a log, a docker log, an environment, a dump), found by its bytes, as a text."""

import itertools
import re
from collections.abc import Iterable, Iterator

import msgspec

from qops.errors import BundleError
from qops.evidence.text import Gap, Text
from qops.pattern import lazy
from qops.transports.base import lines
from qops.transports.reduce import LARGE, Find, reduce, whole_lines

BINARY = 128 << 20  # bytes of a dump or a library that are read; a libcuda has about 100 MB
SNIFF = 8 << 10  # bytes that decide what a file is
_CONTROLS = bytes({*range(1, 9), *range(14, 27), *range(28, 32)})  # not in any text; tab to return and escape are
_PICKLE = lazy(rb"\x80[\x02-\x05]")
_SAFETENSORS = lazy(rb".{4}\0{4}\{", re.DOTALL)  # the size of a JSON header, and its beginning
_VARIABLE = lazy(rb"[A-Za-z_][A-Za-z0-9_]*=[^\0]*\0")
_DOCKER = lazy(rb'\{"log": ?"')  # docker's json-file driver


class _Docker(msgspec.Struct, frozen=True):
    log: str


def content(source: str, blocks: Iterable[bytes], find: Find, whole: int = LARGE) -> tuple[Text | None, Gap | None]:
    """Return the text that `blocks` are, reduced when it has more than `whole` bytes, or the gap that it is.

    Both are returned when the file is damaged somewhere: what came before that is evidence.
    """
    errors: list[BundleError] = []
    head, rest = ahead(_until_error(blocks, errors), SNIFF)
    kind = _kind(head[:SNIFF])
    if kind == "binary":
        return None, Gap(source, "not a text, and no dump that qops reads", "skipped")
    if kind == "dump":
        data, more = ahead(itertools.chain([head], rest), BINARY)
        if len(data) > BINARY or next(more, b""):
            return None, Gap(source, f"more than {BINARY >> 20} MiB of binary data", "unreadable")
        return Text(source, (), data=data), _gap(source, errors)
    stream: Iterator[bytes] = itertools.chain([head], rest)
    if kind == "environment":
        stream = (block.replace(b"\0", b"\n") for block in stream)
    if _DOCKER.match(head.lstrip()):
        stream = _unwrapped(stream)
    start, stream = ahead(stream, whole)
    if len(start) <= whole:
        text = Text(source, lines(start))
    else:
        less = reduce(itertools.chain([start], stream), find)
        text = Text(source, less.lines, less.numbers, size=less.size, last_line=less.last_line)
    if errors and not start:
        return None, _gap(source, errors)
    return text, _gap(source, errors)


def ahead(blocks: Iterable[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """Return more than `size` bytes of `blocks` (less only at the end), and the blocks after them."""
    rest = iter(blocks)
    parts: list[bytes] = []
    have = 0
    for block in rest:
        parts.append(block)
        have += len(block)
        if have > size:
            break
    return b"".join(parts), rest


def _until_error(blocks: Iterable[bytes], errors: list[BundleError]) -> Iterator[bytes]:
    try:
        yield from blocks
    except BundleError as error:
        errors.append(error)


def _gap(source: str, errors: list[BundleError]) -> Gap | None:
    return Gap(source, errors[0].message, "unreadable") if errors else None


def _kind(head: bytes) -> str:
    """Return "text", "environment" (variables that end with a zero byte), "dump" or "binary"."""
    if head.startswith(b"\x7fELF") or _PICKLE.match(head):
        return "dump"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text"  # UTF-16, as Windows editors write it
    if _SAFETENSORS.match(head):
        return "binary"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if b"\0" in head:
        if controls:
            return "binary"
        return "environment" if _VARIABLE.match(head) else "text"  # a log that was cut while open begins with zeros
    return "binary" if controls > len(head) // 50 else "text"


def _unwrapped(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in whole_lines(blocks):
        yield b"\n".join(_docker_line(line) for line in block.split(b"\n"))


def _docker_line(line: bytes) -> bytes:
    """Return what the container said; one line for one line, so that numbers stay."""
    if not _DOCKER.match(line):
        return line
    try:
        said = msgspec.json.decode(line, type=_Docker).log
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return line
    return said.rstrip("\r\n").replace("\n", " ").encode(errors="replace")
