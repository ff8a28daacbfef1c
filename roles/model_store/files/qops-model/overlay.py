"""An overlay: a folder of links to a stored model, with a few files replaced. The model itself is never touched."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import manifest
from hashes import Refused, settle, within

NAME = "qops-overlay.json"


def folder(base: Path, name: str) -> Path:
    """Return where an overlay of the stored model `base` lies."""
    return within(base.parent, f"{base.name}--{name}")


def made(base: Path, wanted: dict[str, Any]) -> tuple[Path, bool]:
    """Have the overlay as `wanted` says; return its folder, and whether anything was changed."""
    target = folder(base, str(wanted["name"]))
    replaced = {path: _content(base, path, wanted) for path in _paths(wanted)}
    removed = {str(path) for path in wanted.get("remove", ())}
    links = {
        p.relative_to(base).as_posix()
        for p in base.rglob("*")
        if p.is_file() and p.relative_to(base).as_posix() not in manifest.OWN
    }
    absent = sorted(removed - links)
    if absent:
        raise Refused(f"the overlay {wanted['name']} removes what the model does not have: {', '.join(absent)}")
    links -= removed | set(replaced)
    record = {
        "schema": 1,
        "base": base.name,
        "definition": wanted["definition"],
        "because": wanted.get("because", ""),
        "replaced": [{"path": p, "sha256": hashlib.sha256(c).hexdigest()} for p, c in sorted(replaced.items())],
        "removed": sorted(removed),
    }
    text = json.dumps(record) + "\n"
    if _is(target, text, replaced, links):
        return target, False
    new, old = (target.with_name(f"{target.name}.{word}") for word in ("new", "old"))
    for rest in (new, old):
        shutil.rmtree(rest, ignore_errors=True)
    for path in sorted(links):
        link = within(new, path)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(within(base, path), within(target, path).parent))
    for path, content in replaced.items():
        file = within(new, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        settle(file)
    (new / NAME).write_text(text, encoding="utf-8")  # the last: what changes after it was not written by us
    settle(new / NAME)
    if target.exists():
        target.replace(old)
    new.replace(target)
    settle(target.parent)
    shutil.rmtree(old, ignore_errors=True)
    return target, True


def _is(target: Path, text: str, replaced: dict[str, bytes], links: set[str]) -> bool:
    try:
        if (target / NAME).read_text(encoding="utf-8") != text:
            return False
        if any(within(target, path).read_bytes() != content for path, content in replaced.items()):
            return False
    except OSError:
        return False
    there = {p.relative_to(target).as_posix() for p in target.rglob("*") if p.is_symlink()}
    return there == links and all(within(target, path).exists() for path in links)


def _paths(wanted: dict[str, Any]) -> list[str]:
    return sorted({*wanted.get("json", {}), *wanted.get("append", {}), *wanted.get("files", {})})


def _content(base: Path, path: str, wanted: dict[str, Any]) -> bytes:
    if path in wanted.get("files", {}):
        return str(wanted["files"][path]).encode()
    try:
        value = json.loads(within(base, path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Refused(f"the overlay changes {path}, which the model does not have") from None
    except ValueError as error:
        raise Refused(f"{base / path} is no JSON: {error}") from None
    value = merged(value, wanted.get("json", {}).get(path, {}))
    for key, more in wanted.get("append", {}).get(path, {}).items():
        value = appended(value, key.split("."), more, f"{path}: {key}")
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def merged(value: Any, patch: Any) -> Any:
    """Return a value with a JSON merge patch applied (RFC 7396): null removes a key."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for key, new in patch.items():
        if new is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), new)
    return result


def appended(value: Any, keys: list[str], more: list[Any], where: str) -> Any:
    """Return a value in which the list at `keys` ends with `more`, less what it has already."""
    result = copy.deepcopy(value)
    inner = result
    for key in keys[:-1]:
        inner = inner.get(key) if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get(keys[-1], []), list):
        raise Refused(f"the overlay appends to {where}, which is no list")
    before = inner.get(keys[-1], [])
    inner[keys[-1]] = before + [item for item in more if item not in before]
    return result
