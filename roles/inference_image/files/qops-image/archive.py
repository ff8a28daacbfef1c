"""An image archive, as `docker save`, `podman save` or skopeo write it: which images it holds, before it is loaded."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

from refused import Refused

_LARGEST = 16 << 20  # bytes of one JSON document in it


def contents(path: str) -> dict[str, str]:
    """Return the identities of the images in an archive, by what they are: a digest of a manifest, or an image id."""
    if not Path(path).is_file():
        raise Refused(f"{path} is no file on this host")
    try:
        with tarfile.open(path) as tar:
            return _identities(_Documents(tar))
    except (OSError, tarfile.TarError, KeyError, ValueError, TypeError) as error:
        raise Refused(f"{path} is no image archive that can be read: {error}") from None


class _Documents:
    """The small members of a tar archive, by their names."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._files: dict[str, bytes] = {}
        for member in tar:
            if member.isfile() and member.size <= _LARGEST and (file := tar.extractfile(member)):
                self._files[member.name.removeprefix("./")] = file.read()

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def json(self, name: str) -> Any:
        return json.loads(self._files[name])

    def digest(self, name: str) -> str:
        return "sha256:" + hashlib.sha256(self._files[name]).hexdigest()


def _identities(files: _Documents) -> dict[str, str]:
    found: dict[str, str] = {}
    if "index.json" in files:
        _index(files, files.json("index.json"), found)
    if "manifest.json" in files:  # docker's own form
        for image in files.json("manifest.json"):
            found[files.digest(image["Config"])] = "image id"
    if not found:
        raise Refused("the archive names no image")
    return found


def _index(files: _Documents, index: dict[str, Any], found: dict[str, str]) -> None:
    for entry in index.get("manifests", ()):
        name = "blobs/" + str(entry["digest"]).replace(":", "/")
        if name not in files:
            continue  # of another architecture, left out when the archive was made
        digest = files.digest(name)
        if digest != entry["digest"]:
            raise Refused(f"{name} in the archive is not what its name says: the archive is damaged")
        found[digest] = "digest"
        document = files.json(name)
        if "manifests" in document:
            _index(files, document, found)
        elif "config" in document:
            config = "blobs/" + str(document["config"]["digest"]).replace(":", "/")
            if config in files:
                found[files.digest(config)] = "image id"
