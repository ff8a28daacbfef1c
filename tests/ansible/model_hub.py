"""A model hub as small as one can be: the parts of the hub's HTTP interface that a downloader needs, and its faults.

It speaks /api/models/REPO/revision/REV, /api/models/REPO/tree/COMMIT and /REPO/resolve/COMMIT/PATH with Range,
and sends contents by a redirect to another address, as the hub does. Shapes: huggingface_hub hf_api.py, _http.py.
Standing alone, for practice hosts: python tests/ansible/model_hub.py PORT [BYTES PER SECOND]
"""

import contextlib
import hashlib
import json
import re
import sys
import threading
import time
import urllib.parse
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "lab/tiny"
PAGE = 3  # rows of the tree in one answer


def tiny_model(size: int = 300_000) -> dict[str, bytes]:
    """Return a model's files; what looks like weights is noise that is the same every time."""
    noise = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(size // 32))
    return {
        "config.json": json.dumps(
            {"model_type": "llama", "quantization_config": {"ignore": ["lm_head"], "bits": 4}}, indent=2
        ).encode(),
        "tokenizer.json": b'{"version": "1.0"}\n',
        "chat_template.jinja": b"{{ messages }}\n",
        "README.md": b"# tiny\n",
        "original/consolidated.pth": noise[: size // 10],
        "model-00001-of-00002.safetensors": noise,
        "model-00002-of-00002.safetensors": noise[::-1],
    }


@dataclass
class Hub:
    """What the server offers, and how it misbehaves."""

    files: dict[str, bytes] = field(default_factory=tiny_model)
    token: str = ""  # needed when not empty
    gated: bool = False  # this token's account has not accepted the terms
    ranges: bool = True
    truncate: dict[str, int] = field(default_factory=dict)  # path: end the connection after so many bytes, once each
    corrupt: dict[str, int] = field(default_factory=dict)  # path: how many times to send another byte in its middle
    rate: int = 0  # bytes per second
    address: str = "127.0.0.1"
    asked: Counter[str] = field(default_factory=Counter)
    ranged: list[str] = field(default_factory=list)
    tokens_at_storage: list[str] = field(default_factory=list)
    url: str = ""
    storage: str = ""

    def __enter__(self) -> "Hub":
        self._servers = [self._serve(self.address, 0), self._serve(self.address, 0)]
        self.url, self.storage = (f"http://{self.address}:{s.server_address[1]}" for s in self._servers)
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _serve(self, address: str, port: int) -> ThreadingHTTPServer:
        hub = self

        class Handler(_Handler):
            offers = hub

        server = ThreadingHTTPServer((address, port), Handler)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server


def _row(path: str, content: bytes) -> dict[str, object]:
    pointer = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
    if path.endswith((".safetensors", ".pth")):  # in LFS: `oid` is the pointer's hash
        return {"type": "file", "oid": "a" * 40, "size": len(content), "path": path, "lfs": pointer}
    oid = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
    return {"type": "file", "oid": oid, "size": len(content), "path": path}


class _Handler(BaseHTTPRequestHandler):
    offers: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        hub, parts = self.offers, urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(parts.path)
        hub.asked[path] += 1
        if path.startswith("/storage/"):
            hub.tokens_at_storage.append(self.headers.get("Authorization", ""))
            return self._content(path.removeprefix("/storage/"))
        match = re.fullmatch(r"(?:/api/models)?/([^/]+/[^/]+)/(revision|tree|resolve)/([^/]+)(?:/(.+))?", path)
        if match is None:
            return self._refuse(404, "", "no such page")
        repo, what, revision, file = match.groups()
        said = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if repo != REPO:
            return self._refuse(401 if not said else 404, "RepoNotFound", "Repository not found")
        if hub.token and what != "revision" and said != hub.token:
            if said:
                return self._refuse(401, "", "Invalid credentials in Authorization header")
            return self._refuse(401, "GatedRepo", f"Access to model {repo} is restricted. You must be authenticated")
        if hub.gated and what != "revision":
            return self._refuse(403, "GatedRepo", f"Access to model {repo} is restricted, you are not authorized")
        if revision not in (COMMIT, "main"):
            return self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if what == "revision":
            return self._json({"id": repo, "sha": COMMIT, "gated": False})
        if what == "tree":
            return self._tree(repo, parts.query)
        if file not in hub.files:
            return self._refuse(404, "EntryNotFound", "Entry not found")
        if not file.endswith(".safetensors"):
            return self._content(file)
        self.send_response(302)
        self.send_header("Location", f"{hub.storage}/storage/{file}")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Linked-Size", str(len(hub.files[file])))
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    do_HEAD = do_GET  # noqa: N815 - as http.server calls it; engines ask so before they fetch

    def _tree(self, repo: str, query: str) -> None:
        start = int(urllib.parse.parse_qs(query).get("cursor", ["0"])[0])
        rows = [{"type": "directory", "oid": "b" * 40, "size": 0, "path": "original"}]
        rows += [_row(path, content) for path, content in self.offers.files.items()]
        link = {}
        if start + PAGE < len(rows):
            there = f"https://huggingface.co/api/models/{repo}/tree/{COMMIT}?recursive=true&cursor={start + PAGE}"
            link = {"Link": f'<{there}>; rel="next"'}
        self._json(rows[start : start + PAGE], link)

    def _json(self, value: object, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        for name, content in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, content)
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: int, code: str, message: str) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", message)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _content(self, file: str) -> None:
        hub = self.offers
        content = hub.files[file]
        if hub.corrupt.get(file, 0) > 0:
            hub.corrupt[file] -= 1
            middle = len(content) // 2
            content = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
        start = 0
        asked = self.headers.get("Range", "")
        if asked and hub.ranges:
            hub.ranged.append(f"{file} {asked}")
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                return self._refuse(416, "", "Range Not Satisfiable")
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        rest = content[start:]
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        if self.command == "HEAD":
            return None
        cut = hub.truncate.pop(file, 0)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._send(rest[:cut] if cut else rest)
        if cut:
            self.close_connection = True
        return None

    def _send(self, content: bytes) -> None:
        rate = self.offers.rate
        step = max(1, rate // 20) if rate else len(content) or 1
        for at in range(0, len(content), step):
            self.wfile.write(content[at : at + step])
            self.wfile.flush()
            if rate:
                time.sleep(step / rate)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    port = int(sys.argv[1])
    offered = Hub(tiny_model(20_000_000), rate=int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    offered.storage = ""  # relative: the same address
    offered._serve("0.0.0.0", port)
    threading.Event().wait()
