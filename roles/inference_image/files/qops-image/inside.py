"""What lies in an image, without running anything of it: one pass over all its files."""

from __future__ import annotations

import tarfile
from typing import Any

import fatbin
import image_files
from engine import Engine


def look(engine: Engine, local: str) -> dict[str, Any]:
    """Return what matters of an image: what image_files.together says of all its files."""
    container = engine.create(local)
    process, stream = engine.export(container)
    try:
        files = image_files.Files(fatbin.targets)
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                if not member.isfile():
                    files.link(member.name)
                elif files.wants(member.name, member.size) and (file := tar.extractfile(member)):
                    files.take(member.name, file)
    finally:
        stream.close()
        process.wait()
        engine.delete(container)
    return image_files.together(files.found)
