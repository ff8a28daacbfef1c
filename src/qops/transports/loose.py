"""Evidence from files: bundles, folders of anything, single logs, archives and standard input, as people have them."""

import io
import itertools
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from qops.errors import BundleError, UsageError
from qops.evidence.text import Gap, Text
from qops.transports import archive, bundle
from qops.transports.answer import Collection
from qops.transports.content import ahead, content
from qops.transports.packed import inflate, packing, shown
from qops.transports.reduce import LARGE, Find

FILES = 10_000
ENTRIES = 100_000  # of one folder
DEPTH = 16
MUCH = 128 << 20  # bytes kept, after which of each further file only `SMALL` bytes are kept whole
MOST = 512 << 20  # bytes kept, after which no further file is read
SMALL = 5 << 20
INNER = 8 << 30  # bytes that all bundles in a bundle of several hosts unpack to, each within its own limit
_LEFT_OUT = "skipped"  # the kind of gap of what is no evidence and so leaves no doubt


class _Pile(Struct):
    """What has been read so far."""

    find: Find
    texts: list[Text] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    bundles: list[Collection] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    files: int = 0
    kept: int = 0  # bytes
    inner: int = 0  # bytes of bundles in bundles

    def text(self, source: str, blocks: Iterator[bytes]) -> None:
        """Read one text. Once much has been kept, less is kept of each; in the end nothing more is read."""
        if self.kept > MOST:
            self.gap(source, f"not read: {MOST >> 20} MiB of other files came first")
            return
        text, gap = content(source, blocks, self.find, LARGE if self.kept < MUCH else SMALL)
        if text is not None:
            self.texts.append(text)
            self.kept += len(text.data) + sum(map(len, text.lines))
        if gap is not None:
            self.gaps.append(gap)

    def failed(self, source: str, error: OSError) -> None:
        kind = "denied" if isinstance(error, PermissionError) else "unreadable"
        self.gap(source, error.strerror or "cannot be read", kind)

    def gap(self, source: str, reason: str, kind: str = "unreadable") -> None:
        self.gaps.append(Gap(source, reason, kind))

    def unique(self, name: str, longer: str) -> str:
        """Return `name`, or `longer` when another file has that name already."""
        chosen = shown(name if name not in self.names else longer, archive.NAME)
        self.names.add(chosen)
        return chosen


def read(paths: Sequence[str], find: Find) -> tuple[Collection, ...]:
    """Read `paths` ("-" is standard input): a collection for each host that bundles name, the rest in one without.

    Loose files beside the bundle or bundles of one host belong to that host. UsageError when a path is not there,
    BundleError when a bundle is damaged or not safe.
    """
    pile = _Pile(find)
    for given in paths:
        if given == "-":
            _one(pile, sys.stdin.buffer, "stdin", "stdin")
            continue
        path = Path(given)
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read {shown(given)}: {getattr(error, 'strerror', None) or error}") from None
        if stat.S_ISDIR(mode):
            _folder(pile, path, path)
        elif stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
            _opened(pile, path, path.name, given)
        else:
            raise UsageError(f"cannot read {shown(given)}: it is a device or a socket")
    return _by_host(pile)


def _by_host(pile: _Pile) -> tuple[Collection, ...]:
    hosts: dict[str, list[Collection]] = {}
    for found in pile.bundles:
        hosts.setdefault(found.host, []).append(found)
    if pile.texts or pile.gaps or not hosts:
        hosts.setdefault(next(iter(hosts)) if len(hosts) == 1 else "", []).append(
            Collection(tuple(pile.texts), tuple(pile.gaps))
        )
    return tuple(
        Collection(
            texts=tuple(itertools.chain.from_iterable(part.texts for part in parts)),
            gaps=tuple(itertools.chain.from_iterable(part.gaps for part in parts)),
            host=host,
            collected_at=parts[0].collected_at,
            interrupted=any(part.interrupted for part in parts),
            clock=next((part.clock for part in parts if part.clock), None),
        )
        for host, parts in hosts.items()
    )


def _folder(pile: _Pile, top: Path, folder: Path, depth: int = 0) -> None:
    """Read everything in `folder`, which is in `top` or is it."""
    recorded = bundle.files_in(folder, shown(str(folder)))
    if recorded is not None:
        pile.bundles.append(bundle.replay(recorded, shown(str(folder)), pile.find))
        return
    try:
        with os.scandir(folder) as found:
            entries = sorted(itertools.islice(found, ENTRIES), key=lambda entry: entry.name)
    except OSError as error:
        pile.failed(_relative(folder, top), error)
        return
    for entry in entries:
        path = Path(entry.path)
        name = _relative(path, top)
        if pile.files >= FILES:
            pile.gap(_relative(folder, top), f"more than {FILES} files: the rest was not read")
            return
        if entry.is_symlink():
            if not _inside(path, top):  # what it leads to inside is read under its own name
                pile.gap(name, "a link that leads out of the folder", _LEFT_OUT)
        elif entry.is_dir(follow_symlinks=False):
            if entry.name == ".git":
                continue
            if depth < DEPTH:
                _folder(pile, top, path, depth + 1)
            else:
                pile.gap(name, f"more than {DEPTH} folders deep: not read")
        elif entry.is_file(follow_symlinks=False):
            pile.files += 1
            _opened(pile, path, name, f"{top.name}/{name}", within=True)
        else:
            pile.gap(name, "a device, a pipe or a socket", _LEFT_OUT)


def _relative(path: Path, top: Path) -> str:
    return shown(path.relative_to(top).as_posix() if path != top else path.name, archive.NAME)


def _inside(path: Path, top: Path) -> bool:
    try:
        return path.resolve().is_relative_to(top.resolve())
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        return False


def _opened(pile: _Pile, path: Path, name: str, longer: str, *, within: bool = False) -> None:
    # Something else may stand there by now: opening it must neither block nor lead out of the folder.
    flags = os.O_RDONLY | os.O_CLOEXEC | (os.O_NONBLOCK | os.O_NOFOLLOW if within else 0)
    try:
        with os.fdopen(os.open(path, flags), "rb", buffering=0) as file:
            if within and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                pile.gap(name, "a device, a pipe or a socket", _LEFT_OUT)
                return
            _one(pile, file, name, longer, within=within)
    except BundleError as error:
        if not within:
            raise
        pile.gap(name, error.message)
    except OSError as error:
        pile.failed(name, error)


def _one(pile: _Pile, file: BinaryIO, name: str, longer: str, *, within: bool = False) -> None:
    """Read one file: as an archive, or as one text."""
    source = _Ahead(file)
    kind = packing(source.head)
    if kind == "zip":
        if not file.seekable():
            raise BundleError("a zip cannot be read from a pipe", "give the file's name")
        file.seek(0)
        _archive(pile, archive.unzip(file, name), name)
        return
    start, rest = _start(inflate(source, kind, name))
    if packing(start[:512]) == "tar":
        _archive(pile, archive.tar(itertools.chain([start], rest), name), name)
    else:
        pile.text(pile.unique(name, longer), itertools.chain([start], rest))


def _start(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Look at the first bytes. Damage there is met again by who reads on: a text has a gap then, a tar is refused."""
    try:
        return ahead(blocks, 512)
    except BundleError as error:
        return b"", _raising(error)


def _raising(error: BundleError) -> Iterator[bytes]:
    raise error
    yield b""


def _archive(pile: _Pile, files: dict[str, bytes], name: str) -> None:
    if bundle.index_of(files):
        pile.bundles.append(bundle.replay(files, name, pile.find))
        return
    for member in sorted(files):
        data = files.pop(member)
        kind = packing(data[:512])
        longer = f"{name}/{member}"
        if member.endswith((".tar.gz", ".tgz")) and _bundle(pile, data, longer):
            continue
        if kind in ("zip", "tar"):
            pile.gap(pile.unique(member, longer), "an archive in an archive", _LEFT_OUT)
        else:
            pile.text(pile.unique(member, longer), inflate(io.BytesIO(data), kind, member))


def _bundle(pile: _Pile, data: bytes, name: str) -> bool:
    """Read one host's bundle in a bundle of several; return whether it is one. What is damaged is a gap."""
    try:
        files = archive.tar(inflate(io.BytesIO(data), packing(data[:512]), name), name)
        pile.inner += sum(map(len, files.values()))
        if pile.inner > INNER:
            raise BundleError(f"the bundles in it unpack to more than {INNER >> 30} GiB: the rest was not read")
        if not bundle.index_of(files):
            return False
        pile.bundles.append(bundle.replay(files, name, pile.find))
    except BundleError as error:
        pile.gap(shown(name, archive.NAME), error.message)
    return True


class _Ahead:
    """A file whose first 512 bytes have been looked at."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.head = b""
        while len(self.head) < 512 and (more := file.read(512 - len(self.head))):
            self.head += more
        self.left = self.head

    def read(self, size: int, /) -> bytes:
        if self.left:
            data, self.left = self.left[:size], self.left[size:]
            return data
        return self.file.read(size) or b""
