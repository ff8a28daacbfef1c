"""The manifest of a stored model: which files it has, how long they are, and their hashes. Works without a hub."""

from __future__ import annotations

import fnmatch
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hashes import Entry, Refused, settle, sha256_of, within

NAME = "qops-manifest.json"
VERIFIED = ".qops-verified"  # its time says when all files were last proved; what changed later is not
OWN = (NAME, VERIFIED)
_SCHEMA = 1


@dataclass(frozen=True)
class Manifest:
    """One model at one commit; `include` and `exclude` are the patterns that chose its files."""

    repo: str
    revision: str
    files: tuple[Entry, ...]
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the manifest as JSON, one line for each file, in one order."""
        head = {
            "schema": _SCHEMA,
            "repo": self.repo,
            "revision": self.revision,
            "include": list(self.include),
            "exclude": list(self.exclude),
        }
        rows = [
            json.dumps({k: v for k, v in asdict(entry).items() if v != ""})
            for entry in sorted(self.files, key=lambda e: e.path)
        ]
        return json.dumps(head)[:-1] + ', "files": [\n' + ",\n".join(rows) + "\n]}\n"


def chosen(files: list[Entry], include: tuple[str, ...], exclude: tuple[str, ...]) -> list[Entry]:
    """Return the files that patterns choose; `*` takes slashes too. No pattern to include: all."""
    return [
        entry
        for entry in files
        if (not include or any(fnmatch.fnmatchcase(entry.path, p) for p in include))
        and not any(fnmatch.fnmatchcase(entry.path, p) for p in exclude)
    ]


def read(path: Path) -> Manifest:
    """Return the manifest in a file. Refused when it is none."""
    return parsed(path.read_bytes(), str(path))


def parsed(content: bytes, source: str) -> Manifest:
    """Return the manifest in `content`. Refused when it is none."""
    try:
        data: Any = json.loads(content)
        files = tuple(
            Entry(str(f["path"]), int(f["size"]), str(f.get("sha256", "")), str(f.get("git_sha1", "")))
            for f in data["files"]
        )
        made = Manifest(
            str(data["repo"]), str(data["revision"]), files, tuple(data.get("include", ())), tuple(data["exclude"])
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(f"{source} is no manifest that this version reads: {error}") from None
    if data.get("schema") != _SCHEMA or not files:
        raise Refused(f"{source} is no manifest that this version reads")
    for entry in files:
        within(Path("/"), entry.path)
        if not (entry.sha256 or entry.git_sha1):
            raise Refused(f"{source} gives no hash of {entry.path}")
    return made


def of_folder(folder: Path, repo: str, revision: str) -> Manifest:
    """Return the manifest of what lies in a folder now: true only if somebody has proved that it is whole."""
    files = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        # A downloader's own cache is no part of the model, and neither is what this program writes.
        if path.is_file() and name not in OWN and not name.startswith((".cache/", ".git/")):
            files.append(Entry(name, path.stat().st_size, sha256_of(path)))
    if not files:
        raise Refused(f"{folder} has no files")
    return Manifest(repo, revision, tuple(files))


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into a folder: whole, or not at all."""
    temporary = folder / (NAME + ".new")
    temporary.write_text(manifest.text(), encoding="utf-8")
    settle(temporary)
    temporary.replace(folder / NAME)
    settle(folder)
