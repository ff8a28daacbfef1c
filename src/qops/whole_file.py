"""Files that are whole or not there, whenever somebody reads them or the machine goes down."""

import os
from pathlib import Path


def replace(target: Path, data: bytes, mode: int | None = None) -> None:
    """Put `data` into `target` in one step. `mode`: its rights; those that the umask gives, when None.

    Raises OSError when it cannot be written; `target` is then what it was.
    """
    import tempfile  # a diagnosis that writes nothing does without

    number, part = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(number, "wb") as file:
            os.fchmod(number, 0o666 & ~_umask() if mode is None else mode)
            file.write(data)
            file.flush()
            os.fsync(number)
        Path(part).replace(target)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
