"""An image archive as docker, podman and skopeo write it, read once from its beginning to its end.

Layers come in any order, packed or not, and what says their order may come last: so each layer is read by itself, and
they are laid over each other at the end.
"""

import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, cast

from qops.errors import EvidenceError
from qops.probes import fatbin
from qops.probes.image_files import Files

DOCUMENT = 8 << 20  # bytes of one JSON document in it
MOST_MEMBERS = 5_000_000  # files of one layer; images have some hundred thousand
MOST_BYTES = 400 << 30  # unpacked, of one layer
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"  # OCI image specification, layer filesystem changeset
_ZSTD = b"\x28\xb5\x2f\xfd"
_VARIABLES = ("CUDA_VERSION", "NVIDIA_REQUIRE_CUDA", "LD_LIBRARY_PATH")


class Counted(io.RawIOBase):
    """A stream that says how far it was read, and can be looked ahead in."""

    def __init__(self, stream: IO[bytes], told: Callable[[int], None] = lambda read: None) -> None:
        self._stream = stream
        self._told = told
        self._ahead = b""
        self.done = 0

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def peek(self, size: int) -> bytes:
        """Return the next bytes without passing over them."""
        if len(self._ahead) < size:
            self._ahead += self._stream.read(size - len(self._ahead)) or b""
        return self._ahead[:size]

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; all that is left when it is negative."""
        if self._ahead:
            size = len(self._ahead) if size < 0 else size
            taken, self._ahead = self._ahead[:size], self._ahead[size:]
        else:
            taken = self._stream.read(size) or b""
        self.done += len(taken)
        self._told(self.done)
        return taken


@dataclass(slots=True)
class Found:
    """What an archive holds: files by path (as Files.found), and of its configuration."""

    files: dict[str, dict[str, Any]]
    environment: dict[str, str]
    architecture: str


@dataclass(slots=True)
class _Layer:
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)  # paths that it takes away from the layers below
    emptied: set[str] = field(default_factory=set)  # folders of which it takes away all


def read(stream: Counted) -> Found:
    """Read an archive of one image. EvidenceError for none, for several, and for a layer that cannot be read.

    Raises tarfile.TarError and OSError for one that is damaged.
    """
    documents: dict[str, Any] = {}
    layers: dict[str, _Layer] = {}
    links: dict[str, str] = {}
    with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|*") as tar:
        for member in tar:
            name = member.name.removeprefix("./")
            if member.issym() or member.islnk():
                links[name] = _beside(name, member.linkname)
            file = tar.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            inner = Counted(file)
            head = inner.peek(512)
            if head[:1] in (b"{", b"["):
                documents[name] = _document(inner)
            elif head.startswith(_ZSTD):
                raise EvidenceError(
                    f"{name} is packed with zstd, which is not read here",
                    "let docker or podman load it, and give the image's name",
                )
            elif head[257:262] == b"ustar" or head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ")):
                layers[name] = _layer(inner)
    manifest = _manifest(documents)
    over = [layers[place] for name in manifest["layers"] if (place := links.get(name, name)) in layers]
    if len(over) < len(manifest["layers"]):
        missing = len(manifest["layers"]) - len(over)
        raise EvidenceError(f"{missing} of {len(manifest['layers'])} layers are not in the archive", "save it again")
    config = documents.get(manifest["config"])
    config = config if isinstance(config, dict) else {}
    inside = config.get("config")
    return Found(
        _laid(over), environment(inside if isinstance(inside, dict) else {}), str(config.get("architecture") or "")
    )


def environment(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of an image's configuration that matter here; others may hold secrets."""
    lines = config.get("Env")
    pairs = [str(line).partition("=") for line in lines] if isinstance(lines, list) else []
    return {name: value[:4000] for name, _, value in pairs if name in _VARIABLES}


def read_files(stream: Counted, files: Files) -> None:
    """Take all files of a tar stream that is a whole root."""
    layer = _Layer()
    _members(stream, files, layer)


def _layer(stream: Counted) -> _Layer:
    files, layer = Files(fatbin.targets), _Layer()
    _members(stream, files, layer)
    layer.files = files.found
    return layer


def _members(stream: Counted, files: Files, layer: _Layer) -> None:
    size = 0
    with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|*") as tar:
        for number, member in enumerate(tar):
            size += member.size
            if number > MOST_MEMBERS or size > MOST_BYTES:
                raise EvidenceError("a layer holds more than any image does", "it may be made to hurt: do not load it")
            path = member.name.removeprefix("./").removeprefix("/")
            folder, _, name = path.rpartition("/")
            if name == _OPAQUE:
                layer.emptied.add(folder)
            elif name.startswith(_WHITEOUT):
                layer.gone.add(f"{folder}/{name.removeprefix(_WHITEOUT)}".lstrip("/"))
            elif not member.isfile():
                files.link(path)
            elif files.wants(path, member.size) and (file := tar.extractfile(member)):
                files.take(path, file)
            cast(Any, tar).members = []  # or tarfile keeps them all


def _laid(layers: list[_Layer]) -> dict[str, dict[str, Any]]:
    """Return what is left when each layer is laid over those before it."""
    found: dict[str, dict[str, Any]] = {}
    for layer in layers:
        taken = [
            path
            for path in found
            if path in layer.gone
            or any(path.startswith(f"{folder}/") for folder in (*layer.gone, *layer.emptied) if folder)
            or "" in layer.emptied
        ]
        for path in taken:
            del found[path]
        found.update(layer.files)
    return found


def _document(stream: Counted) -> Any:
    data = stream.read(DOCUMENT + 1)
    while len(data) <= DOCUMENT and (more := stream.read(DOCUMENT + 1 - len(data))):
        data += more
    try:
        return json.loads(data) if len(data) <= DOCUMENT else None
    except (ValueError, RecursionError):
        return None


def _manifest(documents: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of an archive's one configuration and of its layers, the lowest first."""
    said = documents.get("manifest.json")
    images = [one for one in said if isinstance(one, dict)] if isinstance(said, list) else _oci(documents)
    if not images:
        raise EvidenceError("the archive names no image", "make one: docker save -o FILE IMAGE")
    if len(images) > 1:
        tags = ", ".join(str(tag) for one in images for tag in one.get("RepoTags") or ("an unnamed one",))
        raise EvidenceError(f"the archive holds {len(images)} images: {tags[:300]}", "save one of them alone")
    layers = images[0].get("Layers")
    if not isinstance(layers, list):
        raise EvidenceError("the archive's manifest names no layers", "make it again: docker save -o FILE IMAGE")
    return {"config": str(images[0].get("Config")), "layers": [str(layer) for layer in layers]}


def _oci(documents: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the images of an OCI layout in docker's form: those whose manifests are in the archive."""
    found: list[dict[str, Any]] = []
    waiting = ["index.json"]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        document = documents.get(name)
        if name in seen or not isinstance(document, dict):
            continue
        seen.add(name)
        waiting += [_blob(one) for one in _list(document.get("manifests"))]
        if isinstance(document.get("layers"), list):
            layers = [_blob(one) for one in _list(document["layers"])]
            found.append({"Config": _blob(document.get("config")), "Layers": layers})
    # An attestation beside an image has one layer that is no archive of files.
    return [one for one in found if isinstance((documents.get(one["Config"]) or {}).get("config"), dict)]


def _blob(said: Any) -> str:
    digest = said.get("digest") if isinstance(said, dict) else None
    return "blobs/" + str(digest).replace(":", "/")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _beside(name: str, target: str) -> str:
    """Return what a link in an archive means: older ones link a layer that two images share."""
    folder = name.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            folder = folder[:-1]
        elif part not in ("", "."):
            folder.append(part)
    return "/".join(folder)
