"""What matters of the files of an image, taken one after another, without running anything of it.

The role inference_image places this file on hosts beside fatbin.py, so it needs Python 3.9 and nothing else; its caller
gives it what reads a library's GPU code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import IO, Any

# Which targets a library has code for: the function `targets` of fatbin.py.
Targets = Callable[[IO[bytes]], Mapping[str, int]]

_COMPAT = re.compile(r"usr/local/cuda[^/]*/compat/(?:.*/)?libcuda\.so\.([0-9]+\.[0-9.]+)$")
_DRIVER = re.compile(r"(?:^|/)(?:lib64|lib|[a-z0-9_]+-linux-gnu|nvidia)/libcuda\.so\.([0-9]{3}\.[0-9.]+)$")
_STUB = re.compile(r"/stubs/libcuda\.so\.1$")
# What the vendor's compat library says of itself.
_NOTE = re.compile(rb'\{"[^{}]{0,2000}"CUDA [Vv]ersion"[^{}]{0,2000}\}')
_LIBRARY = re.compile(r"(?:site|dist)-packages/([^/]+)/.*\.so(?:\.[0-9.]+)?$")
_PACKAGE = re.compile(r"(?:site|dist)-packages/([\w.]+)-([\w.+!]+)\.dist-info/METADATA$", re.ASCII)
_TOOLKIT = re.compile(r"usr/local/cuda[^/]*/version\.json$")
_LOADER = re.compile(r"etc/ld\.so\.conf(?:\.d/[^/]+\.conf)?$")
_NCCL = re.compile(r"/libnccl\.so\.([0-9]+\.[0-9]+\.[0-9]+)$")
_LARGEST = 512 << 20  # bytes of a compat library
_SMALLEST = 64 << 10  # bytes of a library with code for a GPU
_TEXT = 64 << 10  # bytes that are read of a text
_PACKAGES = ("torch", "vllm", "sglang", "sgl_kernel", "flashinfer_python", "triton")


class Files:
    """Takes the files of an image; `found` has what matters of each, by path without a slash at its beginning."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self.found: dict[str, dict[str, Any]] = {}

    def wants(self, path: str, size: int) -> bool:
        """Return whether the bytes of a file are to be given to `take`. What its name says is noted here."""
        if match := _DRIVER.search(path):
            self.found[path] = {"driver": match.group(1)}
        elif match := _NCCL.search(path):
            self.found[path] = {"packages": {"nccl": match.group(1)}}
        elif match := _PACKAGE.search(path):
            name = match.group(1).lower()
            if name in _PACKAGES or name.startswith("nvidia_nccl_cu"):
                self.found[path] = {"packages": {name: match.group(2)}}
        elif _STUB.search(path):
            self.found[path] = {"stub": True}
        elif _COMPAT.search(path):
            return size <= _LARGEST
        elif _LIBRARY.search(path):
            return size >= _SMALLEST
        return bool(_TOOLKIT.search(path) or _LOADER.search(path))

    def link(self, path: str) -> None:
        """Note a link whose name matters."""
        if _STUB.search(path):
            self.found[path] = {"stub": True}

    def take(self, path: str, file: IO[bytes]) -> None:
        """Read one file that was wanted."""
        if match := _COMPAT.search(path):
            note = _NOTE.search(file.read(_LARGEST))
            text = note.group(0).decode("ascii", "replace") if note else ""
            self.found[path] = {"compat": {"path": f"/{path}", "version": match.group(1), "note": text}}
        elif match := _LIBRARY.search(path):
            if targets := self._targets(file):
                self.found[path] = {"kernels": {match.group(1): sorted(targets)}}
        elif _TOOLKIT.search(path):
            if version := _toolkit(file.read(_TEXT)):
                self.found[path] = {"cuda": version}
        elif folders := _folders(file.read(_TEXT)):
            self.found[path] = {"folders": folders}


def together(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the files of an image say as a whole.

    `compat`: the compat libcuda files (path, version of their driver, and their note). `kernels`: for each Python
    package, the targets of the GPU code in its libraries. `packages` and `cuda`: versions. `drivers`: libcuda files
    that belong to a driver and not to an image, by path. `stubs`: link-time stubs under the name that programs load.
    `folders`: those of compat or stub libraries that the loader is told of.
    """
    kernels: dict[str, set[str]] = {}
    packages: dict[str, str] = {}
    for about in found.values():
        for name, targets in about.get("kernels", {}).items():
            kernels.setdefault(name, set()).update(targets)
        packages.update(about.get("packages", {}))
    return {
        "compat": [about["compat"] for about in found.values() if "compat" in about],
        "kernels": {name: sorted(targets) for name, targets in kernels.items()},
        "packages": packages,
        "cuda": next((about["cuda"] for about in found.values() if "cuda" in about), ""),
        "drivers": {f"/{path}": about["driver"] for path, about in found.items() if "driver" in about},
        "stubs": [f"/{path}" for path, about in found.items() if "stub" in about],
        "folders": [folder for about in found.values() for folder in about.get("folders", ())],
    }


def _toolkit(data: bytes) -> str:
    """Return the CUDA version of a toolkit's version.json, or ""."""
    try:
        said = json.loads(data)["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return said[:40] if isinstance(said, str) else ""


def _folders(data: bytes) -> list[str]:
    """Return the folders of a file of ld.so.conf that hold no real driver library."""
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
    return [line[:300] for line in lines if line.startswith("/") and ("compat" in line or "stubs" in line)]
