"""Releases of a service: what it started with, kept so that it can start with it again.

A release is a folder with the files that a start takes, and what is known of it. No secret is in it: going back brings
no key back that was revoked. It is good when a token came from it. Its name is the time at which it was kept and a
part of the hash of its files and its image.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bounded import run
from instance import Instance, Strange, got, put, read, settle

_PRIVATE = 0o700
_ABOUT = "release.json"


@dataclass(frozen=True)
class Release:
    """One release. `good`: a token came from it. `failed`: why its change was undone. `image`: the id that it ran."""

    name: str
    folder: Path
    good: bool = False
    failed: str = ""
    image: str = ""
    by: str = ""
    at: str = ""

    @property
    def digest(self) -> str:
        """What its files and its image are, whenever they were kept."""
        return self.name.rpartition("-")[2]

    @property
    def outcome(self) -> str:
        """What became of it, in a word or a sentence."""
        return "good" if self.good else f"undone: {self.failed}" if self.failed else "not judged"

    def described(self, instance: Instance) -> Instance:
        """Return the service as it was described then."""
        kept = self.folder / f"{instance.name}.json"
        return replace(read(str(kept)), described=instance.described) if kept.exists() else instance


def files(instance: Instance) -> list[Path]:
    """Return the files that a start takes, without the secrets."""
    return [Path(path) for path in instance.files if path != instance.secret]


def listed(instance: Instance) -> list[Release]:
    """Return all releases, the oldest first."""
    return [_read(path.parent) for path in sorted(instance.kept("releases").glob(f"[0-9]*/{_ABOUT}"))]


def find(instance: Instance, wanted: str) -> Release | None:
    """Return the release of a name, or "previous", the last good one that is not in force; None when there is none."""
    now = begun(instance) or digest(instance)
    previous = [one for one in listed(instance) if one.good and one.digest != now]
    named = [one for one in listed(instance) if one.name == wanted]
    return next(iter((previous if wanted == "previous" else named)[-1:]), None)


def named(instance: Instance, name: str) -> Release:
    """Return the release of a name. Strange when it is not there."""
    found = find(instance, name)
    if found is None:
        raise Strange(f"release {name} of {instance.name} is gone; run the role inference_service again")
    return found


def digest(instance: Instance) -> str:
    """Return a part of the hash of the files that are in place, and of the image that the service's name for it means.

    A change of the description alone, such as other questions, is in force at once and makes no release.
    """
    total = hashlib.sha256(image_id(instance).encode())
    for path in sorted(files(instance)):
        try:
            total.update(f"\0{path}\0".encode() + path.read_bytes())
        except OSError:
            continue
    return total.hexdigest()[:8]


def begun(instance: Instance) -> str:
    """Return the digest of what the service was started with; "" when nobody knows."""
    return got(instance.running("release"))


def keep(instance: Instance, *, good: bool = False, by: str = "") -> Release:
    """Keep the files that are in place as a release, once for the same files; return it."""
    mark = digest(instance)
    for one in listed(instance):
        if one.digest == mark:
            put(one.folder / f"{instance.name}.json", got(Path(instance.described)), lasting=True)
            return note(one, good=True) if good and not one.good else one
    now = time.time()
    # By name they are in the order of time: whatever the clock of the place does, and within a second too.
    when = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now))}.{int(now * 1000) % 1000:03d}Z"
    folder = instance.kept("releases") / f"{when}-{mark}"
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=_PRIVATE, parents=True)
    folder.parent.chmod(_PRIVATE)
    for path in (*files(instance), Path(instance.described)):
        if path.exists():
            put(new / path.name, got(path), lasting=True)
    at = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    _write(new, Release(folder.name, new, good, "", image_id(instance), by, at))
    new.replace(folder)
    settle(folder.parent)
    return _read(folder)


def note(release: Release, *, good: bool, failed: str = "") -> Release:
    """Write down how a release came out."""
    _write(release.folder, replace(release, good=good, failed=failed))
    return _read(release.folder)


def place(instance: Instance, release: Release, *, images: bool = True) -> list[str]:
    """Put a release's files in their places, each whole or not at all; return those that changed.

    `images`: the name of its image means again what it meant then. Strange when that image is gone from this host.
    """
    before = release.described(instance)
    if images:
        _image(before, release)
    changed = []
    for path in (*files(before), Path(instance.described)):
        kept = release.folder / path.name
        if kept.exists() and got(path) != got(kept):
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
            put(path, got(kept), lasting=True)
            path.chmod(mode)
            changed.append(str(path))
    return changed


def image_id(instance: Instance) -> str:
    """Return the id of the image that the service's name for it means now; "" when it has none, or it is not there."""
    if not instance.image:
        return ""
    said = run([instance.runtime, "image", "inspect", "--format", "{{.Id}}", instance.image], 30)
    return said.text.strip() if said.well else ""


def forget(instance: Instance) -> None:
    """Remove releases that are older than those to keep: good ones, and beside them as many that were undone."""
    now = (digest(instance), begun(instance))
    spare = [one for one in listed(instance) if one.digest not in now]
    for some in ([one for one in spare if one.good], [one for one in spare if not one.good]):
        for one in some[: max(0, len(some) - instance.keep)]:
            shutil.rmtree(one.folder, ignore_errors=True)


def _image(before: Instance, release: Release) -> None:
    """Have the name of an image mean again what it meant when the release ran: a tag may have moved since."""
    if not (before.image and release.image) or image_id(before) == release.image:
        return
    done = run([before.runtime, "image", "tag", release.image, before.image], 60)
    if not done.well:
        raise Strange(
            f"the image {release.image} of release {release.name} is gone: {' '.join(done.text.split())[:200]}"
        )


def _read(folder: Path) -> Release:
    try:
        said: dict[str, Any] = json.loads(got(folder / _ABOUT))
        words = [str(said[name]) for name in ("failed", "image", "by", "at")]
        return Release(folder.name, folder, bool(said["good"]), *words)
    except (ValueError, KeyError, TypeError):
        return Release(folder.name, folder)


def _write(folder: Path, release: Release) -> None:
    about = {name: getattr(release, name) for name in ("good", "failed", "image", "by", "at")}
    put(folder / _ABOUT, json.dumps(about) + "\n", lasting=True)
