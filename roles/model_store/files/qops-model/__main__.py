"""qops-model: keeps models on this host, at pinned commits, proved byte for byte. Needs Python 3.9 and nothing else.

qops-model fetch <SPEC.json          what the role model_store does
qops-model verify FOLDER...          read every byte again; exit 1 when one is wrong
qops-model manifest FOLDER REPO COMMIT    write the manifest of a folder that is known to be whole
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

import manifest
import overlay
from hashes import Refused, within
from hub import BROKEN, Hub
from manifest import Manifest
from sources import FromHub, Source, source
from store import Store, place

_COMMIT = re.compile(r"[0-9a-f]{40}")


def main(arguments: list[str]) -> int:
    """Do one command; return the exit status."""
    try:
        if arguments == ["fetch"]:
            return fetch(json.load(sys.stdin))
        if arguments[:1] == ["verify"] and len(arguments) > 1:
            return max(verify(Path(folder)) for folder in arguments[1:])
        if arguments[:1] == ["manifest"] and len(arguments) == 4:
            folder = Path(arguments[1])
            manifest.write(folder, manifest.of_folder(folder, arguments[2], arguments[3]))
            return 0
    except Refused as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


def fetch(spec: dict[str, Any]) -> int:
    """Have every model of the spec in the store; say on standard output, as JSON, what was done."""
    done: list[dict[str, Any]] = []
    errors: list[str] = []
    try:
        token = spec.get("token") or _token(spec.get("token_file", ""))
    except Refused as error:
        token = ""
        errors.append(str(error))
    for wanted in spec["models"] if not errors else ():
        try:
            done.append(_one(spec, wanted, token))
        except Refused as error:
            errors.append(str(error))
        except BROKEN as error:
            reason = getattr(error, "reason", None) or error
            errors.append(
                f"{wanted['repo']}: {spec['endpoint']} does not answer ({reason}); try again, or give a source"
            )
        except OSError as error:
            errors.append(f"{wanted['repo']}: {error.strerror or error}: {error.filename or ''}".rstrip(": "))
    changed = any(one["fetched"] or one["changed"] for one in done)
    said = [_sentence(one) for one in done]
    print(json.dumps({"changed": changed, "models": done, "said": said, "errors": errors}))
    return 1 if errors else 0


def _sentence(done: dict[str, Any]) -> str:
    came = f"{len(done['fetched'])} files came" if done["fetched"] else "nothing had to come"
    again = (
        f", {len(done['damaged'])} of them for damaged ones ({', '.join(done['damaged'])})" if done["damaged"] else ""
    )
    return f"{done['path']}: {came}{again}; all files are proved"


def _one(spec: dict[str, Any], wanted: dict[str, Any], token: str) -> dict[str, Any]:
    repo, revision = str(wanted["repo"]), str(wanted["revision"])
    hub = Hub(spec["endpoint"], token)
    if not _COMMIT.fullmatch(revision):
        commit = hub.commit(repo, revision)
        raise Refused(f"{repo}: {revision} moves, and is commit {commit} now; to have it, say revision: {commit}")
    root = Path(spec["root"])
    folder = place(root, repo, revision)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print(f"{repo}: another run is at work on it; waiting", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        origin: Source = (
            source(wanted["source"], folder.parent) if wanted.get("source") else FromHub(hub, repo, revision)
        )
        store = Store(root, _manifest(wanted, folder, origin))
        outcome = store.fetch(origin, jobs=spec["jobs"], keep_free=spec["keep_free"], full=bool(spec.get("full")))
        path, changed = overlay.made(folder, wanted["overlay"]) if wanted.get("overlay") else (folder, False)
    return {
        "repo": repo,
        "revision": revision,
        "path": str(path),
        "fetched": list(outcome.fetched),
        "damaged": list(outcome.damaged),
        "changed": changed,
    }


def _manifest(wanted: dict[str, Any], folder: Path, origin: Source) -> Manifest:
    """Return the manifest: the folder's own where it was made for the same choice of files, or the source's."""
    include, exclude = tuple(wanted.get("include", ())), tuple(wanted.get("exclude", ()))
    own = folder / manifest.NAME
    if own.is_file():
        known = manifest.read(own)
        if (known.include, known.exclude) == (include, exclude):
            return known
    given = origin.manifest()
    if given is None:
        raise Refused(
            f"{wanted['source']} has no {manifest.NAME}: where the files are known to be whole, run "
            f"qops-model manifest FOLDER {wanted['repo']} {wanted['revision']}, and bring that along"
        )
    if (given.repo, given.revision) != (wanted["repo"], wanted["revision"]):
        raise Refused(f"{wanted.get('source')} holds {given.repo} at {given.revision}, not what the inventory names")
    files = tuple(manifest.chosen(list(given.files), include, exclude))
    if not files:
        raise Refused(f"{wanted['repo']}: no file is left of include {include} and exclude {exclude}")
    return Manifest(given.repo, given.revision, files, include, exclude)


def _token(file: str) -> str:
    """Return the token in a file that only its owner may read."""
    if not file:
        return ""
    try:
        mode = Path(file).stat().st_mode
        if stat.S_IMODE(mode) & 0o077:
            raise Refused(f"{file} may be read by others: chmod 600 {file}")
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise Refused(f"the token file {file} cannot be read: {error.strerror}") from None


def verify(folder: Path) -> int:
    """Read every byte of a stored model again; name what is missing or wrong."""
    known = manifest.read(folder / manifest.NAME)
    wrong = [entry.path for entry in known.files if not entry.is_in(within(folder, entry.path))]
    for path in wrong:
        print(f"{folder / path}: missing, or not what the manifest says")
    if not wrong:
        print(f"{folder}: {len(known.files)} files, all as the manifest says")
    return 1 if wrong else 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main(sys.argv[1:]))
