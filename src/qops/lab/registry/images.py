"""Images of one layer, laid out as docker-registry stores them; equal contents give equal digests."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from qops.lab.packages import definition

_BUSYBOX = ("cat", "echo", "env", "httpd", "id", "ls", "mkdir", "ps", "sh", "sleep", "test", "true", "uname", "wget")
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_CREATED = "2026-01-01T00:00:00Z"  # fixed, so that a digest says what is in an image and nothing else


@dataclass(frozen=True, slots=True)
class Image:
    """One image as it is stored."""

    name: str
    tag: str
    layer: bytes
    config: bytes
    manifest: bytes

    @property
    def digest(self) -> str:
        """What `docker pull` takes after the @."""
        return _digest(self.manifest)


def build(busybox: bytes) -> tuple[Image, ...]:
    """Return the images that data/packages/images.yaml names, around a static busybox."""
    found = definition.load("images")["images"]
    return tuple(_image(name, tag, about, busybox) for name, about in found.items() for tag in about["tags"])


def stored(images: Sequence[Image]) -> dict[str, bytes]:
    """Return docker-registry's files for the images, by path below its root directory."""
    top = "docker/registry/v2"
    files: dict[str, bytes] = {}
    for image in images:
        for blob in (image.layer, image.config, image.manifest):
            hexadecimal = _digest(blob).removeprefix("sha256:")
            files[f"{top}/blobs/sha256/{hexadecimal[:2]}/{hexadecimal}/data"] = blob
        own = f"{top}/repositories/{image.name}"
        manifest = image.digest.removeprefix("sha256:")
        for blob in (image.layer, image.config):
            files[f"{own}/_layers/sha256/{_digest(blob).removeprefix('sha256:')}/link"] = _digest(blob).encode()
        for place in (
            f"revisions/sha256/{manifest}", f"tags/{image.tag}/current", f"tags/{image.tag}/index/sha256/{manifest}",
        ):  # fmt: skip
            files[f"{own}/_manifests/{place}/link"] = image.digest.encode()
    return files


def _image(name: str, tag: str, about: Mapping[str, Any], busybox: bytes) -> Image:
    plain = _layer(about.get("files", {}), busybox, f"{name}:{tag}\n")
    layer = gzip.compress(plain, compresslevel=6, mtime=0)
    environment = {"PATH": "/bin", **about.get("environment", {})}
    config = _json(
        {
            "created": _CREATED,
            "architecture": definition.architecture(),
            "os": "linux",
            "config": {
                "Env": [f"{key}={value}" for key, value in environment.items()],
                "Cmd": list(about["command"]),
                "Labels": {
                    "org.opencontainers.image.title": name,
                    "org.opencontainers.image.version": tag,
                    "org.opencontainers.image.description": f"{about['about']}; made by the qops lab",
                },
            },
            "rootfs": {"type": "layers", "diff_ids": [_digest(plain)]},
            "history": [{"created": _CREATED, "created_by": "qops lab"}],
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor(_CONFIG, config),
            "layers": [_descriptor(_LAYER, layer)],
        }
    )
    return Image(name, tag, layer, config, manifest)


def _layer(files: Mapping[str, str], busybox: bytes, version: str) -> bytes:
    wanted = {path: text.encode() for path, text in files.items()}
    wanted |= {"/bin/busybox": busybox, "/etc/image": version.encode(), "/etc/passwd": b"root:x:0:0::/:/bin/sh\n"}
    folders = {str(parent) for path in wanted for parent in PurePosixPath(path).parents} - {"/"} | {"/tmp"}  # noqa: S108 - the image's own
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(folders):
            member = tarfile.TarInfo(path.lstrip("/"))
            member.type, member.mode = tarfile.DIRTYPE, 0o1777 if path == "/tmp" else 0o755  # noqa: S108
            archive.addfile(member)
        for path, content in sorted(wanted.items()):
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size, member.mode = len(content), 0o755 if path == "/bin/busybox" else 0o644
            archive.addfile(member, io.BytesIO(content))
        for name in _BUSYBOX:
            member = tarfile.TarInfo(f"bin/{name}")
            member.type, member.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(member)
    return buffer.getvalue()


def _descriptor(kind: str, content: bytes) -> dict[str, object]:
    return {"mediaType": kind, "size": len(content), "digest": _digest(content)}


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
