"""Bundles made of bundles: one of several hosts, and one whose secrets are looked for again."""

import gzip
import io
import os
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from qops.errors import BundleError
from qops.redaction import Redactor
from qops.transports import archive, bundle
from qops.transports.bundle_writer import REPLACED, Writer
from qops.transports.packed import inflate, packing

PACKED = (".tar.gz", ".tgz")


def again(source: Path, target: Path, redact: Redactor) -> None:
    """Write the bundle `source`, of one host or of several, to `target` without the secrets that are known by now.

    The two may be the same file. BundleError when the one is no bundle or the other cannot be written.
    """
    files = _files(source)
    for data in files.values():
        redact.know(data)
    if bundle.index_of(files):
        _one(files, source.name, target, redact)
        settle([target], redact)
        return
    if not files or not all(name.endswith(PACKED) for name in files):
        raise BundleError(f"{source} is not a bundle that qops made", "--redact-again takes what `qops collect` wrote")
    for name, data in files.items():
        for inside in _unpacked(io.BytesIO(data), name).values():
            redact.know(inside)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        made = {}
        for number, (name, data) in enumerate(files.items()):
            made[name] = Path(folder, f"{number}.tar.gz")
            _one(_unpacked(io.BytesIO(data), name), name, made[name], redact)
        settle(tuple(made.values()), redact)
        pack(made, target)


def settle(paths: Sequence[Path], redact: Redactor) -> None:
    """Write those of the bundles anew that hold a secret which only later answers, or other hosts, showed to be one."""
    for path in paths:
        files = _files(path)
        if any(redact.knows(data) for name, data in files.items() if not name.endswith(".bin")):
            _one(files, path.name, path, Redactor(alike=redact))


def pack(parts: Mapping[str, Path], target: Path) -> None:
    """Write the bundles `parts`, by their names in it, as the one bundle `target`; whole or not at all, mode 0600."""
    try:
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise BundleError(f"cannot write {target}: {error.strerror}") from None
    part = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            # What is in it is packed already.
            with (
                gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=1) as packed,
                tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
            ):
                for inside, path in sorted(parts.items()):
                    info = tarfile.TarInfo(inside)
                    info.size, info.mode, info.mtime = path.stat().st_size, 0o600, int(path.stat().st_mtime)
                    with path.open("rb") as content:
                        tar.addfile(info, content)
            file.flush()
            os.fsync(number)
        part.replace(target)
    except OSError as error:
        raise BundleError(f"cannot write {target}: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def _one(files: Mapping[str, bytes], name: str, target: Path, redact: Redactor) -> None:
    index, answers = bundle.raw(files, name)
    before = files.get(REPLACED, b"")
    with Writer(target, index.host, collected_at=index.collected, redactor=redact, before=before) as writer:
        for answer in answers:
            writer.add(answer)
        writer.interrupted, writer.clock = index.interrupted, index.clock


def _files(path: Path) -> dict[str, bytes]:
    try:
        with path.open("rb") as file:
            return _unpacked(file, path.name)
    except OSError as error:
        raise BundleError(f"cannot read {path}: {error.strerror}") from None


def _unpacked(file: BinaryIO, name: str) -> dict[str, bytes]:
    kind = packing(file.read(512))
    file.seek(0)
    return archive.unzip(file, name) if kind == "zip" else archive.tar(inflate(file, kind, name), name)
