"""Where a file's content comes from: the hub, a folder, a tar archive, or an rsync address."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import time
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import manifest
from hashes import CHUNK, Entry, Refused, settle, within
from hub import BROKEN, Hub
from manifest import Manifest

TRIES = 6  # in a row without a single new byte
LONGEST_WAIT = 60.0  # seconds between two of them
Tell = Callable[[int], None]
"""Called with the number of bytes that came (negative: that were thrown away)."""


class Source(Protocol):
    """What can give a model's files."""

    def manifest(self) -> Manifest | None:
        """Return the manifest that lies there, or None."""

    def fetch(self, entry: Entry, to: Path, tell: Tell) -> None:
        """Bring a file to `to`, going on where `to` ends; whether its content is right is not asked here."""


class FromHub:
    """The hub: what came so far stays, and the rest is asked for."""

    def __init__(self, hub: Hub, repo: str, commit: str, pause: Callable[[float], None] = time.sleep) -> None:
        self._hub, self._repo, self._commit, self._pause = hub, repo, commit, pause

    def manifest(self) -> Manifest:
        """Return the manifest as the hub's tree gives it."""
        return Manifest(self._repo, self._commit, tuple(self._hub.tree(self._repo, self._commit)))

    def fetch(self, entry: Entry, to: Path, tell: Tell) -> None:
        """Bring a file; a connection that breaks is made again."""
        tries = 0
        while (have := to.stat().st_size if to.exists() else 0) < entry.size or not to.exists():
            try:
                self._some(entry, to, have, tell)
                reason = "the connection ended early"
            except urllib.error.HTTPError as error:
                if error.code < 500 and error.code not in (408, 416, 429):
                    raise Refused(f"{entry.path}: the hub answers {error.code} {error.reason}") from None
                if error.code == 416:
                    tell(-have)
                    to.unlink()
                reason = f"the hub answers {error.code}"
            except BROKEN as error:
                reason = str(getattr(error, "reason", "") or error) or type(error).__name__
            grown = to.exists() and to.stat().st_size > have
            tries = 0 if grown else tries + 1
            if tries >= TRIES:
                raise Refused(f"{entry.path}: no byte came in {TRIES} tries ({reason}); what came is kept") from None
            if tries:
                self._pause(min(LONGEST_WAIT, 2.0 ** (tries - 1)))

    def _some(self, entry: Entry, to: Path, have: int, tell: Tell) -> None:
        with self._hub.content(self._repo, self._commit, entry.path, have) as answer:
            whole = answer.status != 206
            if whole and have:  # no ranges here: all of it comes again
                tell(-have)
            with to.open("wb" if whole else "ab", buffering=0) as file:  # what came is kept when this is killed
                left = entry.size - (0 if whole else have)
                while left > 0 and (piece := answer.read1(min(CHUNK, left))):
                    file.write(piece)
                    tell(len(piece))
                    left -= len(piece)


class FromFolder:
    """A folder on this host: a disk that was carried here, or a network file system."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise Refused(f"{folder} is no folder on this host")
        self._folder = folder

    def manifest(self) -> Manifest | None:
        """Return the folder's manifest."""
        path = self._folder / manifest.NAME
        return manifest.read(path) if path.is_file() else None

    def fetch(self, entry: Entry, to: Path, tell: Tell) -> None:
        """Copy a file."""
        origin = within(self._folder, entry.path)
        have = to.stat().st_size if to.exists() else 0
        try:
            with origin.open("rb") as file, to.open("ab") as out:
                file.seek(have)
                while piece := file.read(CHUNK):
                    out.write(piece)
                    tell(len(piece))
        except FileNotFoundError:
            raise Refused(f"{self._folder} lacks {entry.path}") from None


class FromTar:
    """A tar archive on this host, compressed or not, of a model's folder."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        try:
            with tarfile.open(archive) as tar:
                self._members = {m.name.removeprefix("./"): m for m in tar if m.isfile()}
        except (OSError, tarfile.TarError) as error:
            raise Refused(f"{archive} cannot be read: {error}") from None
        tops = [name for name in self._members if name.rpartition("/")[2] == manifest.NAME]
        self._top = min(tops, key=len).removesuffix(manifest.NAME) if tops else ""

    def manifest(self) -> Manifest | None:
        """Return the archive's manifest."""
        member = self._members.get(self._top + manifest.NAME)
        if member is None:
            return None
        with tarfile.open(self._archive) as tar:
            file = tar.extractfile(member)
            return manifest.parsed(file.read() if file else b"", f"{self._archive}:{member.name}")

    def fetch(self, entry: Entry, to: Path, tell: Tell) -> None:
        """Copy a file out of the archive."""
        member = self._members.get(self._top + entry.path)
        if member is None:
            raise Refused(f"{self._archive} lacks {entry.path}")
        have = to.stat().st_size if to.exists() else 0
        with tarfile.open(self._archive) as tar:
            file = tar.extractfile(member)
            if file is None:
                raise Refused(f"{self._archive} lacks {entry.path}")
            with file, to.open("ab") as out:
                file.seek(have)
                while piece := file.read(CHUNK):
                    out.write(piece)
                    tell(len(piece))


class FromRsync:
    """Another host by rsync (rsync://HOST/MODULE/PATH or HOST:PATH), such as the peer that has the model already."""

    def __init__(self, address: str, work: Path) -> None:
        if shutil.which("rsync") is None:
            raise Refused("rsync is not installed on this host: apt-get install rsync, or dnf install rsync")
        self._address, self._work = address.rstrip("/"), work

    def manifest(self) -> Manifest | None:
        """Return the manifest that lies there."""
        path = self._work / ("." + manifest.NAME)
        self._copy(manifest.NAME, path)
        return manifest.read(path)

    def fetch(self, entry: Entry, to: Path, tell: Tell) -> None:
        """Copy a file; rsync goes on where one ends."""
        have = to.stat().st_size if to.exists() else 0
        within(to.parent, entry.path)
        self._copy(entry.path, to)
        tell(to.stat().st_size - have)

    def _copy(self, path: str, to: Path) -> None:
        command = ["rsync", "--append", "--inplace", "--copy-links", "--timeout=60", f"{self._address}/{path}", str(to)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Refused(f"{' '.join(command[-2:])}: {done.stderr.strip()[-500:]}")


def source(address: str, work: Path) -> Source:
    """Return the source that `address` names: a folder or tar archive on this host, or another host."""
    path = Path(address)
    if address.startswith("rsync://") or (":" in address and not address.startswith("/")):
        return FromRsync(address, work)
    if not path.is_absolute():
        raise Refused(f"{address!r} is no source: give an absolute path on the host, or an rsync address")
    return FromFolder(path) if path.is_dir() else FromTar(path)


def brought(entry: Entry, origin: Source, to: Path, tell: Tell) -> None:
    """Bring one file, prove it, and have it on the disk. What came with the wrong content is asked for once more."""
    for last in (False, True):
        if to.exists() and to.stat().st_size > entry.size:
            tell(-to.stat().st_size)
            to.unlink()
        to.parent.mkdir(parents=True, exist_ok=True)
        origin.fetch(entry, to, tell)
        if entry.is_in(to):
            settle(to)
            return
        # Right length and wrong content happens (huggingface_hub#3643): no resume mends that.
        tell(-to.stat().st_size)
        to.unlink()
        if last:
            raise Refused(f"{entry.path} came twice with a content that is not what the manifest says")
