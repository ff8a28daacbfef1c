"""The package index that this machine's pip uses, and the wheels that it offers of a project."""

import json
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from qops.data.engines import order
from qops.errors import UsageError

TIMEOUT_S = 120
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"  # PEP 691; older indexes answer with HTML (PEP 503)
_RELEASE = re.compile(r"\d+(?:\.\d+)*(?:\.post\d+)?")  # no candidates, no development versions


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on an index: its version and where it lies."""

    version: str
    url: str


def setting(name: str) -> str:
    """Return one setting of pip, from its files or its environment; empty when it has none."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.findall(rf"^(:env:|global|install|download|user|site)\.\.?{re.escape(name)}='(.*)'$", listed, re.M)
    return max(found, key=lambda one: one[0] == ":env:")[1] if found else ""


def address() -> str:
    """Return the address of the index that pip would ask: its setting, else its own default."""
    if configured := setting("index-url"):
        return configured
    code = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UsageError("pip does not say which index it uses", "set PIP_INDEX_URL")
    return done.stdout.strip()


def tls() -> ssl.SSLContext:
    """Return the certificates that pip trusts."""
    return ssl.create_default_context(cafile=setting("cert") or None)


def fetch(url: str, context: ssl.SSLContext, **headers: str) -> tuple[bytes, str]:
    """Return the body and the content type of `url`. Raises UsageError with what the server said."""
    if urlsplit(url).scheme not in ("https", "http"):
        raise UsageError(f"{url} is no web address", "an index on the disk has no ranges; name one by PIP_INDEX_URL")
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the scheme is checked above
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as answer:  # noqa: S310
            return answer.read(), answer.headers.get("Content-Type", "")
    except (urllib.error.URLError, TimeoutError) as error:
        raise UsageError(f"cannot read {url}: {error}") from error


def wheels(project: str, context: ssl.SSLContext) -> dict[str, Wheel]:
    """Return one wheel for each release of `project`, oldest first: the Python in all of a release is the same."""
    base = urljoin(address().rstrip("/") + "/", f"{project}/")
    body, kind = fetch(base, context, Accept=_ACCEPT)
    found: dict[str, Wheel] = {}
    for name, url in _files(body, kind):
        parts = name.removesuffix(".whl").split("-")
        if not name.endswith(".whl") or len(parts) < 5 or not _RELEASE.fullmatch(parts[1]):
            continue
        if parts[1] not in found or "x86_64" in name:
            found[parts[1]] = Wheel(parts[1], urljoin(base, url))
    return dict(sorted(found.items(), key=lambda item: order(item[0])))


def _files(body: bytes, kind: str) -> Iterator[tuple[str, str]]:
    if "json" in kind:
        for file in json.loads(body)["files"]:
            if not file.get("yanked"):
                yield file["filename"], file["url"]
        return
    links = _Links()
    links.feed(body.decode("utf-8", "replace"))
    for url in links.found:
        path = url.partition("#")[0]
        yield unquote(path.rsplit("/", 1)[-1]), path


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        url = dict(attrs).get("href")
        if tag == "a" and url:
            self.found.append(url)
