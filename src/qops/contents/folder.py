"""A model's folder as its reader sees it: names, sizes and the first bytes of files, here or on another host."""

import errno
import stat
from pathlib import Path
from typing import Protocol


class Folder(Protocol):
    """One folder, without those below it. `name` is how it is quoted."""

    name: str

    def names(self) -> tuple[str, ...]:
        """Return the names of all that is no folder, in order; links that lead nowhere too."""
        ...

    def size(self, name: str) -> int:
        """Return the bytes of a file. FileNotFoundError when it is not there, OSError when nobody can tell."""
        ...

    def start(self, name: str, most: int) -> bytes:
        """Return the first `most` bytes of a file, or all when it has fewer. Raises as `size` does."""
        ...


class Here:
    """A folder of this machine."""

    def __init__(self, path: str) -> None:
        self.name = path
        self._path = Path(path)

    def names(self) -> tuple[str, ...]:
        """Return the names of all that is no folder, in order. OSError when the folder cannot be listed."""
        return tuple(sorted(one.name for one in self._path.iterdir() if not one.is_dir()))

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        about = (self._path / name).stat()
        if not stat.S_ISREG(about.st_mode):  # a pipe would be waited for
            raise OSError(errno.EINVAL, "it is no regular file")
        return about.st_size

    def start(self, name: str, most: int) -> bytes:
        """Return the first bytes of a file."""
        with (self._path / name).open("rb") as file:
            return file.read(most)
