"""What a file must be, and the hashes that prove it: sha256, or git's own where the hub has no other."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

CHUNK = 4 << 20  # bytes


class Refused(Exception):  # noqa: N818 - what happened, not an error of this program
    """Something that the person who runs this must decide or mend; the text says what."""


@dataclass(frozen=True)
class Entry:
    """One file of a model: its path in the repository, its size in bytes, and at least one of two hashes."""

    path: str
    size: int
    sha256: str = ""
    git_sha1: str = ""  # git's hash of a blob: sha1 of "blob SIZE", a zero byte and the content

    def is_in(self, path: Path) -> bool:
        """Return whether a file is there and is this one, byte for byte."""
        try:
            return path.stat().st_size == self.size and self._hash(path) == (self.sha256 or self.git_sha1)
        except OSError:
            return False

    def _hash(self, path: Path) -> str:
        if self.sha256:
            return sha256_of(path)
        header = f"blob {self.size}\0".encode()
        return _hash_of(path, hashlib.sha1(header))  # noqa: S324 - git's, not ours to choose


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's content."""
    return _hash_of(path, hashlib.sha256())


def _hash_of(path: Path, digest: hashlib._Hash) -> str:
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def settle(path: Path) -> None:
    """Have a file or folder on the disk before anything relies on it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def within(folder: Path, path: str) -> Path:
    """Return where `path` lies below `folder`. Refused when it would lie elsewhere."""
    parts = path.split("/")
    if not path or path.startswith("/") or any(part in ("", ".", "..") for part in parts) or "\0" in path:
        raise Refused(f"{path!r} is no path of a file in a repository")
    return folder.joinpath(*parts)
