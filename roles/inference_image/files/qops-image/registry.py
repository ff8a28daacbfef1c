"""A registry's HTTP interface (OCI distribution): which digest a tag has, and how much has to come.

Asked before a pull, and for tags. Nothing of it is trusted: the engine checks the digest of what it pulls.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import re
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from refused import Refused, Silent

TIMEOUT = 20  # seconds
_ACCEPT = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_LOGINS = ("/root/.docker/config.json", "/run/containers/0/auth.json", "/root/.config/containers/auth.json")
_HUB = "https://index.docker.io/v1/"  # the key under which docker login keeps the account of docker.io


@dataclass(frozen=True)
class Reference:
    """An image's name: registry, repository and tag."""

    host: str
    repository: str
    tag: str

    def at(self, digest: str) -> str:
        """Return the name with a digest in place of the tag, as engines take it; without one, with the tag."""
        return f"{self.host}/{self.repository}" + (f"@{digest}" if digest else f":{self.tag}")

    def through(self, mirror: str) -> Reference:
        """Return the image's name at a mirror, HOST[:PORT][/PREFIX]: the digest stays the same there."""
        if not mirror:
            return self
        host, _, prefix = mirror.strip("/").partition("/")
        return Reference(host, f"{prefix}/{self.repository}" if prefix else self.repository, self.tag)


def reference(name: str) -> Reference:
    """Return what a name means. Without a registry it is docker.io, and there without an owner `library`."""
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        host, path = first, rest
    else:
        host, path = "docker.io", name
    repository, _, tag = path.partition(":")
    if host == "docker.io" and "/" not in repository:
        repository = f"library/{repository}"
    return Reference(host, repository, tag or "latest")


@dataclass(frozen=True)
class Offer:
    """What a registry has for this machine. Sizes in bytes, compressed; `layers` are uncompressed digests."""

    digest: str  # of what the tag names: an index, or a manifest
    sizes: tuple[int, ...]
    layers: tuple[str, ...]

    def to_come(self, here: list[list[str]]) -> int:
        """Return the bytes that have to come: layers are shared from the lowest up, as far as they are the same."""
        shared = 0
        for layers in here:
            same = 0
            while same < min(len(layers), len(self.layers)) and layers[same] == self.layers[same]:
                same += 1
            shared = max(shared, same)
        return sum(self.sizes[shared:])


class Registry:
    """One registry."""

    def __init__(self, host: str, *, plain: bool) -> None:
        self._host = "registry-1.docker.io" if host == "docker.io" else host
        self._key = _HUB if host == "docker.io" else host
        self._base = f"{'http' if plain else 'https'}://{self._host}/v2"
        self._authorization = ""

    def offer(self, image: Reference, digest: str) -> Offer:
        """Return what is there under a digest, or under the tag when there is none. Refused when nothing is."""
        body = self._get(f"{image.repository}/manifests/{digest or image.tag}", image)
        found = "sha256:" + hashlib.sha256(body).hexdigest()
        top = _object(body, image)
        if isinstance(top.get("manifests"), list):
            top = _object(self._get(f"{image.repository}/manifests/{_own(top['manifests'], image)}", image), image)
        layers = top.get("layers") or []
        config = _object(self._get(f"{image.repository}/blobs/{top['config']['digest']}", image), image)
        return Offer(
            found,
            tuple(int(layer.get("size", 0)) for layer in layers),
            tuple((config.get("rootfs") or {}).get("diff_ids") or ()),
        )

    def digest(self, image: Reference) -> str:
        """Return the digest that the tag has now."""
        return "sha256:" + hashlib.sha256(self._get(f"{image.repository}/manifests/{image.tag}", image)).hexdigest()

    def _get(self, place: str, image: Reference) -> bytes:
        try:
            return self._ask(place)
        except urllib.error.HTTPError as error:
            if error.code == 401 and not self._authorization:
                self._authorization = self._permission(error.headers.get("WWW-Authenticate", ""), image)
                if self._authorization:
                    return self._get(place, image)
            if error.code in (401, 403):
                raise Refused(
                    f"{image.host} refuses {image.repository}: log in on the host ({_login(image)})"
                ) from None
            if error.code == 404:
                raise Refused(f"{image.host} has no {image.at('') if '/manifests/' in place else place}") from None
            raise Silent(f"{image.host} answers {error.code} {error.reason}") from None
        except (urllib.error.URLError, HTTPException, OSError) as error:
            raise Silent(f"{image.host} does not answer ({getattr(error, 'reason', error)})") from None

    def _ask(self, place: str) -> bytes:
        request = urllib.request.Request(f"{self._base}/{place}", headers={"Accept": _ACCEPT})  # noqa: S310 - http or https
        if self._authorization:
            # Not followed by a redirect: the storage behind a registry has signed addresses of its own.
            request.add_unredirected_header("Authorization", self._authorization)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            body: bytes = answer.read(64 << 20)
        return body

    def _permission(self, challenge: str, image: Reference) -> str:
        """Return an Authorization header as the registry asks for it, with the host's login where there is one."""
        login = _stored(self._key)
        if challenge.lower().startswith("basic"):
            return f"Basic {login}" if login else ""
        asked = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        if "realm" not in asked:
            return ""
        query = {"service": asked.get("service", ""), "scope": f"repository:{image.repository}:pull"}
        request = urllib.request.Request(f"{asked['realm']}?{urllib.parse.urlencode(query)}")  # noqa: S310
        if login:
            request.add_unredirected_header("Authorization", f"Basic {login}")
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            said = json.load(answer)
        return f"Bearer {said.get('token') or said.get('access_token')}"


def _object(body: bytes, image: Reference) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Refused(f"{image.host} answers for {image.repository}, but not as a registry does")
    return value


def _own(manifests: list[dict[str, Any]], image: Reference) -> str:
    """Return the digest of this machine's image in an index."""
    wanted = _ARCHITECTURES.get(platform.machine(), platform.machine())
    offered = {str((m.get("platform") or {}).get("architecture")): str(m.get("digest")) for m in reversed(manifests)}
    if wanted not in offered:
        have = ", ".join(sorted(set(offered) - {"unknown"}))
        raise Refused(f"{image.at('')} is not made for {wanted}, which this host is; there is {have}")
    return offered[wanted]


def _stored(key: str) -> str:
    for path in _LOGINS:
        try:
            login = json.loads(Path(path).read_text(encoding="utf-8"))["auths"][key]["auth"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if base64.b64decode(login):
            return str(login)
    return ""


def _login(image: Reference) -> str:
    return f"docker login {image.host}, or podman login {image.host}, which keep it for root alone"
