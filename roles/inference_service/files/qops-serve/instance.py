"""One inference service of this host, as the role inference_service describes it in /etc/qops/serve/NAME.json."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

FOLDER = Path("/etc/qops/serve")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")


class Strange(Exception):  # noqa: N818 - what happened, not an error of this program
    """What the person who runs this must mend; the text says what."""


@dataclass(frozen=True)
class Instance:
    """One service. Times in seconds; `gpus` are indices or UUIDs, empty for none; `key` names the API key's name."""

    name: str
    unit: str
    port: int
    model: str
    address: str = "127.0.0.1"
    runtime: str = "venv"  # or docker, podman
    container: str = ""
    gpus: tuple[str, ...] = ()
    gpus_by: str = ""  # "cdi", "gpus": how a container gets them
    secret: str = ""  # the root-only file of NAME='value' lines
    key: str = ""
    files: tuple[str, ...] = ()  # what the unit starts with: a change of one is in force after a restart
    state: str = ""  # folder that outlives a boot
    run: str = ""  # folder that does not
    fail_safe: bool = True
    device_seconds: float = 120.0  # how long devices may take after a boot
    load_seconds: float = 3600.0  # after which a start that is not ready is recorded
    token_seconds: float = 30.0  # in which one token must come
    failures: int = 3  # looks in a row without a token and without progress
    restarts: int = 3  # of a hung engine in an hour
    image: str = ""  # of a container, as it is named there
    needs: tuple[str, ...] = ()  # programs and folders of the host without which it cannot start
    idle_seconds: float = 60.0  # how long a change waits for a moment without requests
    smoke: tuple[dict[str, str], ...] = ()  # what is asked before and after a change
    keep: int = 5  # good releases beside the one in force
    described: str = ""  # the file that says all this

    def kept(self, name: str) -> Path:
        """Return a file of this service that outlives a boot."""
        return Path(self.state, name)

    def running(self, name: str) -> Path:
        """Return a file of this service that is gone after a boot."""
        return Path(self.run, name)

    def api_key(self) -> str:
        """Return the key that the engine asks for; "" when it asks for none. Strange when only root may know it."""
        if not (self.key and self.secret):
            return ""
        try:
            # The engine has the key that it was started with, whatever the file says since then.
            kept = self.running("secret")
            text = (kept if kept.exists() else Path(self.secret)).read_text(encoding="utf-8")
        except PermissionError:
            raise Strange(f"only root may read {self.secret}, which holds the engine's key") from None
        except OSError:
            return ""
        lines = (line.partition("=") for line in text.splitlines())
        return next((value.strip("'") for name, _, value in lines if name == self.key), "")


def read(name: str) -> Instance:
    """Return the service of a name, or of a path to its description. Strange when there is none."""
    path = Path(name) if "/" in name else FOLDER / f"{name}.json"
    if "/" not in name and not _NAME.fullmatch(name):
        raise Strange(f"{name!r} is no name of a service")
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        known = {field.name for field in fields(Instance)}
        made: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in said.items() if key in known
        }
        return Instance(**{**made, "described": str(path)})
    except FileNotFoundError:
        there = ", ".join(sorted(p.stem for p in path.parent.glob("*.json"))) or "none"
        raise Strange(f"there is no service {name}; there are: {there}") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise Strange(f"{path} cannot be read: {error}") from None


def put(path: Path, content: str, *, lasting: bool = False) -> None:
    """Write a file of one's own, whole or not at all; `lasting`: it is on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    new.replace(path)
    if lasting:
        settle(path.parent)


def settle(folder: Path) -> None:
    """Have a folder's entries on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def got(path: Path) -> str:
    """Return a file's content; "" when it is not there."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
