"""A registry as small as one can be (OCI distribution, with the token flow), and a docker that pulls from it.

`docker` here is a script that keeps its images in a JSON file: what the program asks of it, and nothing else.
"""

import hashlib
import json
import platform
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


@dataclass
class Registry:
    """Blobs, and what each tag names."""

    token: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    host: str = ""

    def put(self, name: str, layers: list[tuple[str, int]], architecture: str = ARCHITECTURE) -> str:
        """Make an image of layers (uncompressed digest, compressed size) behind an index; return the index's digest."""
        config = json.dumps({"architecture": architecture, "rootfs": {"diff_ids": [d for d, _ in layers]}}).encode()
        manifest = {
            "mediaType": MANIFEST,
            "config": {"digest": self._add(config), "size": len(config)},
            "layers": [{"digest": digest(d.encode()), "size": size} for d, size in layers],
        }
        inner = self._add(json.dumps(manifest).encode())
        entries = [
            {"digest": "sha256:" + "0" * 64, "platform": {"architecture": "unknown", "os": "unknown"}},
            {"digest": inner, "platform": {"architecture": architecture, "os": "linux"}},
        ]
        self.tags[name] = self._add(json.dumps({"mediaType": INDEX, "manifests": entries}).encode())
        return self.tags[name]

    def _add(self, content: bytes) -> str:
        self.blobs[digest(content)] = content
        return digest(content)

    def __enter__(self) -> "Registry":
        registry = self

        class Handler(_Handler):
            offers = registry

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    offers: Registry

    def do_GET(self) -> None:
        registry, path = self.offers, self.path.partition("?")[0]
        registry.asked[path] += 1
        if path == "/token":
            return self._answer(200, json.dumps({"token": registry.token}).encode())
        if registry.token and self.headers.get("Authorization") != f"Bearer {registry.token}":
            challenge = f'Bearer realm="http://{registry.host}/token",service="lab"'
            return self._answer(401, b"{}", {"WWW-Authenticate": challenge})
        repository, _, reference = path.removeprefix("/v2/").rpartition("/")
        repository = repository.removesuffix("/manifests").removesuffix("/blobs")
        content = registry.blobs.get(registry.tags.get(f"{repository}:{reference}", reference))
        return self._answer(200, content) if content else self._answer(404, b"{}")

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


DOCKER = '''#!{python} -I
"""docker, as far as qops-image asks it."""
import json, sys, tarfile, io
from pathlib import Path
STATE = Path("{state}")
state = json.loads(STATE.read_text())
images, a = state["images"], sys.argv[1:]
state["log"].append(a)
def find(r):
    return next((i for i in images if r == i["Id"] or r in i["RepoTags"] or r in i["RepoDigests"]), None)
def fail(words):
    STATE.write_text(json.dumps(state)); sys.exit(words)
if a[0] == "info":
    print(json.dumps({{"DockerRootDir": "/", "RegistryConfig": {{"IndexConfigs": {{state["insecure"]: {{"Secure": False}}}}}}}}))
elif a[:2] == ["image", "ls"]:
    print("\\n".join(i["Id"] for i in images))
elif a[:2] == ["image", "inspect"]:
    if a[2] == "--format":
        for i in images:
            print(json.dumps(i["RootFS"]["Layers"]) if "Layers" in a[3] else json.dumps(i["RepoDigests"]) + " " + i["Id"])
    else:
        found = find(a[2]) or fail("Error: No such image: " + a[2])
        print(json.dumps([found]))
elif a[0] == "pull":
    new = state["pulls"].get(a[-1]) or fail("Error response from daemon: manifest unknown")
    images.append({{**new, "RepoDigests": [a[-1]] if "@" in a[-1] else []}})
elif a[0] == "load":
    images.append(state["loads"]); print("Loaded image ID: " + state["loads"]["Id"])
elif a[0] == "tag":
    for i in images:
        i["RepoTags"] = [t for t in i["RepoTags"] if t != a[2]]
    find(a[1])["RepoTags"].append(a[2])
elif a[:2] == ["image", "rm"]:
    images.remove(find(a[2]))
elif a[0] == "create":
    print("c0ffee")
elif a[0] == "export":
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        for name, content in state["inside"].items():
            member, data = tarfile.TarInfo(name), content.encode("latin-1")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
STATE.write_text(json.dumps(state))
'''


def image(local: str, layers: list[str], environment: list[str] | None = None) -> dict[str, object]:
    """Return an image as docker describes it."""
    return {
        "Id": local, "RepoTags": [], "RepoDigests": [], "RootFS": {"Layers": layers}, "Config": {"Env": environment or []}
    }  # fmt: skip


def docker(folder: Path, **state: object) -> Path:
    """Put the script into a folder, with its images; return the file that keeps its state."""
    path = folder / "docker.json"
    start = {"images": [], "log": [], "pulls": {}, "loads": {}, "inside": {}, "insecure": "none", **state}
    path.write_text(json.dumps(start))
    script = folder / "docker"
    script.write_text(DOCKER.format(python=sys.executable, state=path))
    script.chmod(0o755)
    return path
