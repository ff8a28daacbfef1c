"""qops-image: keeps container images on this host, by digest. Needs Python 3.9, and docker or podman.

qops-image ensure <SPEC.json     what the role inference_image does
qops-image tags <SPEC.json       which digests the tags have now in their registries
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import archive
import inside
from engine import Engine
from record import Record
from refused import Refused, Silent
from registry import Offer, Reference, Registry, reference

TRIES = 3
OWN = "qops.local"  # the registry of the names that this program gives: there is none of that name
# An image on disk is about two and a half times its compressed size, and the download lies beside it until unpacked.
ON_DISK = 3.5


def main(arguments: list[str]) -> int:
    """Do one command; return the exit status."""
    if arguments not in (["ensure"], ["tags"]):
        print(__doc__, file=sys.stderr)
        return 2
    spec = json.load(sys.stdin)
    said: list[str] = []
    errors: list[str] = []
    changed = False
    try:
        engine = Engine(spec["engine"])
        record = Record(Path(spec["record"]))
        for wanted in spec["images"]:
            try:
                if arguments == ["tags"]:
                    said.append(_tag(engine, spec, wanted))
                else:
                    changed |= _one(engine, spec, wanted, record, said)
            except Refused as error:
                errors.append(f"image {wanted['name']}: {error}")
        if arguments == ["ensure"] and spec["prune"] and not errors:
            changed |= _prune(engine, record, said)
    except Refused as error:
        errors.append(str(error))
    print(json.dumps({"changed": changed, "said": said, "errors": errors}))
    return 1 if errors else 0


def _one(engine: Engine, spec: dict[str, Any], wanted: dict[str, Any], record: Record, said: list[str]) -> bool:
    """Have one image here, looked into, and named; return whether anything changed."""
    name, digest = wanted["name"], wanted["digest"]
    image = reference(wanted["image"])
    here = _here(engine, record, wanted, image)
    changed = here is None
    if here is None:
        here = _load(engine, wanted) if wanted["archive"] else _pull(engine, spec, image, digest)
        if not digest and not wanted["id"]:
            engine.tag(here["Id"], image.at(""))
        said.append(f"image {name}: {'loaded from ' + wanted['archive'] if wanted['archive'] else 'pulled'}")
    local = here["Id"]
    if local not in record.looks:
        record.looks[local] = inside.look(engine, local)
        changed = True
    if not digest and not wanted["id"]:
        known = sorted({d.rpartition("@")[2] for d in here.get("RepoDigests") or ()})
        said.append(f"image {name} has no digest in the inventory; to pin it: {wanted['image']}: {', '.join(known)}")
    before = record.current(name)
    if before.get("local") != local:
        if before and engine.inspect(before["local"]):
            engine.tag(before["local"], f"{OWN}/{name}:previous")
        record.put(name, {"image": wanted["image"], "digest": digest, "id": wanted["id"], "local": local})
        said.append(f"image {name}: {local[:19]} is current" + (", the one before stays as previous" if before else ""))
        changed = True
    elif (before.get("digest"), before.get("id")) != (digest, wanted["id"]):
        record.amend(name, {"image": wanted["image"], "digest": digest, "id": wanted["id"], "local": local})
        changed = True
    engine.tag(local, f"{OWN}/{name}:current")
    if changed:
        record.write(_now())
    return changed


def _here(engine: Engine, record: Record, wanted: dict[str, Any], image: Reference) -> dict[str, Any] | None:
    """Return the image if it is on the host: by what was proved before, by its digest, by its id, or by its tag."""
    for local in record.proved(wanted["name"], wanted["digest"], wanted["id"]):
        if found := engine.inspect(local):
            return found
    if wanted["id"] and (found := engine.inspect(wanted["id"])):
        return found
    if wanted["digest"]:
        return engine.find(wanted["digest"])
    return None if wanted["id"] else engine.inspect(image.at(""))


def _pull(engine: Engine, spec: dict[str, Any], image: Reference, digest: str) -> dict[str, Any]:
    source = image.through(spec["mirror"])
    offer: Offer | None = None
    try:
        offer = Registry(source.host, plain=source.host in engine.insecure).offer(source, digest)
        needed = int(offer.to_come(engine.layers()) * ON_DISK)
    except Silent as error:
        needed = 0
        print(f"{source.at(digest)}: its size is not known: {error}", file=sys.stderr)
    disk = os.statvfs(engine.root)
    free = disk.f_bavail * disk.f_frsize
    if free < needed + spec["keep_free"]:
        raise Refused(
            f"{f'{needed / 1e9:.1f} GB are needed to unpack it' if offer else 'its size is not known'}, "
            f"{free / 1e9:.1f} GB are free at {engine.root}, and "
            f"{spec['keep_free'] / 1e9:.1f} GB are to stay free: remove images ({engine.name} image ls), or move "
            f"{engine.root} to a larger disk"
        )
    fixed = digest or (offer.digest if offer else "")  # what the tag had a moment ago, so that all of this is about one
    reason = ""
    for attempt in range(TRIES):
        time.sleep(attempt * 2)
        reason = engine.pull(source.at(fixed))
        if not reason and (found := engine.inspect(source.at(fixed))):
            return found
    raise Refused(f"{engine.name} pull {source.at(fixed)}: {reason}; without a registry, give the image an archive")


def _load(engine: Engine, wanted: dict[str, Any]) -> dict[str, Any]:
    held = archive.contents(wanted["archive"])
    if not {wanted["digest"], wanted["id"]} & set(held):
        have = ", ".join(f"{kind} {identity}" for identity, kind in held.items())
        raise Refused(f"{wanted['archive']} does not hold it: there is {have}; nothing was loaded")
    names = engine.load(wanted["archive"])
    for name in (wanted["id"], *names):
        if name and (found := engine.inspect(name)):
            return found
    raise Refused(f"{wanted['archive']} was loaded, and {engine.name} does not know what came")


def _tag(engine: Engine, spec: dict[str, Any], wanted: dict[str, Any]) -> str:
    name, source = wanted["name"], reference(wanted["image"]).through(spec["mirror"])
    try:
        now = Registry(source.host, plain=source.host in engine.insecure).digest(source)
    except Refused as error:
        return f"image {name}: whether the tag moved is not known: {error}"
    if not wanted["digest"]:
        return f"image {name}: {wanted['image']} is {now} now; to pin it: {wanted['image']}: {now}"
    if now == wanted["digest"]:
        return f"image {name}: {wanted['image']} is what the inventory pins"
    return f"image {name}: {wanted['image']} moved to {now}; this host keeps {wanted['digest']}, as the inventory says"


def _prune(engine: Engine, record: Record, said: list[str]) -> bool:
    """Remove what is neither current nor previous. An image that a container uses stays."""
    changed = False
    for name, entry in record.old():
        reason = engine.remove(entry["local"]) if engine.inspect(entry["local"]) else ""
        said.append(f"image {name}: {entry['local'][:19]} {'stays: ' + reason if reason else 'removed'}")
        if not reason:
            record.forget(name, entry)
            changed = True
    if changed:
        record.write(_now())
    return changed


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main(sys.argv[1:]))
