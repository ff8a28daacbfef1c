"""What lies in an image, without running anything of it: one pass over all its files."""

from __future__ import annotations

import re
import tarfile
from typing import IO, Any

import fatbin
from engine import Engine

_LIBCUDA = re.compile(r"(usr/local/cuda[^/]*/compat/(?:.*/)?)libcuda\.so\.([0-9]+\.[0-9.]+)$")
_NOTE = re.compile(
    rb'\{"[^{}]{0,2000}"CUDA [Vv]ersion"[^{}]{0,2000}\}'
)  # what the vendor's compat library says of itself
_PACKAGE = re.compile(r"(?:site|dist)-packages/([^/]+)/.*\.so(?:\.[0-9.]+)?$")
_LARGEST = 512 << 20  # bytes of a compat library
_SMALLEST = 64 << 10  # bytes of a library with code for a GPU


def look(engine: Engine, local: str) -> dict[str, Any]:
    """Return what matters of an image.

    `compat`: the compat libcuda files (path, version of their driver, and their note). `kernels`: for each Python
    package, the targets of the GPU code in its libraries.
    """
    container = engine.create(local)
    process, stream = engine.export(container)
    try:
        compat, kernels = _files(stream)
    finally:
        stream.close()
        process.wait()
        engine.delete(container)
    return {"compat": compat, "kernels": {name: sorted(found) for name, found in kernels.items()}}


def _files(stream: IO[bytes]) -> tuple[list[dict[str, str]], dict[str, set[str]]]:
    compat: list[dict[str, str]] = []
    kernels: dict[str, set[str]] = {}
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            if not member.isfile() or ".so" not in member.name:
                continue
            library, package = _LIBCUDA.search(member.name), _PACKAGE.search(member.name)
            wanted = member.size <= _LARGEST if library else package and member.size >= _SMALLEST
            file = tar.extractfile(member) if wanted else None
            if file and library:
                note = _NOTE.search(file.read())
                text = note.group(0).decode("ascii", "replace") if note else ""
                compat.append({"path": f"/{member.name}", "version": library.group(2), "note": text})
            elif file and package and (found := fatbin.targets(file)):
                kernels.setdefault(package.group(1), set()).update(found)
    return compat, kernels
