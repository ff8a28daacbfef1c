"""An apt repository as files: a flat one, of which apt checks every byte down from the signature."""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping

from qops.lab.packages import deb
from qops.lab.packages.deb import Package

Sign = Callable[[str], bytes]


def stand_ins(packages: Iterable[Package]) -> dict[str, bytes]:
    """Return the archives and the index of a repository of packages, by path."""
    files: dict[str, bytes] = {}
    paragraphs = []
    for package in packages:
        built = deb.build(package)
        files[package.filename] = built
        paragraphs.append(
            f"{package.control}Filename: ./{package.filename}\nSize: {len(built)}\n"
            f"SHA256: {hashlib.sha256(built).hexdigest()}\n"
        )
    files["Packages"] = "\n".join(paragraphs).encode()
    return files


def release(indexes: Mapping[str, bytes], label: str, sign: Sign) -> bytes:
    """Return the signed InRelease over the index files, by their paths."""
    lines = [
        "Origin: qops lab",
        f"Label: {label}",
        "Suite: lab",
        f"Date: {time.strftime('%a, %d %b %Y %H:%M:%S UTC', time.gmtime())}",
        "Acquire-By-Hash: no",
        "Description: stand-ins of the qops lab, without vendor software",
        "SHA256:",
        *(f" {hashlib.sha256(content).hexdigest()} {len(content)} {path}" for path, content in indexes.items()),
    ]
    return sign("\n".join(lines) + "\n")
