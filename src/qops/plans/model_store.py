"""The plan of the role model_store: which models lie on the host, at which commit, and whether they are whole."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from qops.derive import models
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.setting import Setting, State, setting
from qops.errors import UsageError
from qops.evidence.model import Models, StoredModel
from qops.plans.base import Options, Plan, RolePlan, Seen

DEFAULTS: dict[str, Any] = {
    "manage": True,
    "models": [],
    "root": "/var/lib/qops/models",
    "endpoint": "https://huggingface.co",
    "token": "",
    "token_file": "",
    "connections": 4,
    "keep_free_gb": 20,
    "verify": "quick",
}
_REPO = re.compile(r"[A-Za-z0-9][\w.\-]{0,95}/[A-Za-z0-9][\w.\-]{0,95}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NAME = re.compile(r"[a-z0-9][a-z0-9\-]{0,40}")
_KEYS = {"repo", "revision", "include", "exclude", "source", "overlay"}
_OVERLAY_KEYS = {"name", "because", "json", "append", "files", "remove"}


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    root = _checked(options)
    wanted = [_model(one, root) for one in options["models"]]
    twice = {w["folder"] for w in wanted if [x["folder"] for x in wanted].count(w["folder"]) > 1}
    if twice:
        raise UsageError(f"model_store_models names {', '.join(sorted(twice))} twice", "name each model once")
    stored: Models | None = seen.get(Models)
    settings = [s for one in wanted for s in _settings(one, stored)]
    notes = [
        f"{w['repo']}: {w['revision']!r} is no commit, so it can change: the run resolves it, says which commit to"
        " pin, and stops"
        for w in wanted
        if not _COMMIT.fullmatch(w["revision"])
    ]
    return Plan(tuple(settings), notes=tuple(notes), facts=_facts(wanted, root, options))


def _checked(options: Options) -> str:
    """Return the store's root. UsageError for a value that cannot be."""
    root = str(options["root"]).rstrip("/")
    if not root.startswith("/") or any(c.isspace() for c in root):
        raise UsageError(f"model_store_root cannot be {root!r}", "give an absolute path without blanks")
    if not re.match(r"https?://\S+$", str(options["endpoint"])):
        raise UsageError(f"model_store_endpoint cannot be {options['endpoint']!r}", "give an address, https://…")
    for name, least, most in (("connections", 1, 32), ("keep_free_gb", 0, 1_000_000)):
        value = str(options[name])
        if not (value.isascii() and value.isdigit() and least <= int(value) <= most):
            raise UsageError(f"model_store_{name} cannot be {value!r}", f"give a number from {least} to {most}")
    if options["verify"] not in ("quick", "full"):
        raise UsageError(f"model_store_verify cannot be {options['verify']!r}", "quick or full")
    if not isinstance(options["models"], list):
        raise UsageError("model_store_models is no list", "give a list of repo and revision")
    return root


def _model(given: object, root: str) -> dict[str, Any]:
    """Return one model as the program takes it. UsageError when it cannot be."""
    if not isinstance(given, Mapping):
        raise UsageError(f"model_store_models holds {given!r}", "each model has repo and revision")
    strange = sorted(set(map(str, given)) - _KEYS)
    repo, revision = str(given.get("repo", "")), str(given.get("revision", ""))
    if strange:
        raise UsageError(f"a model of model_store_models has {', '.join(strange)}", f"known: {', '.join(_KEYS)}")
    if not _REPO.fullmatch(repo) or ".." in repo or "--" in repo:
        raise UsageError(f"model_store_models: repo cannot be {repo!r}", "give OWNER/NAME, as the hub writes it")
    if not revision or any(c.isspace() for c in revision):
        raise UsageError(f"model_store_models: {repo} has no revision", "give the commit, 40 hexadecimal digits")
    overlay = _overlay(given["overlay"], repo) if given.get("overlay") else None
    folder = f"{root}/{repo.replace('/', '--')}/{revision}"
    return {
        "repo": repo,
        "revision": revision,
        "include": [str(p) for p in given.get("include") or []],
        "exclude": [str(p) for p in given.get("exclude") or []],
        "source": str(given.get("source") or ""),
        "overlay": overlay,
        "folder": folder,
        "path": f"{folder}--{overlay['name']}" if overlay else folder,
    }


def _overlay(given: object, repo: str) -> dict[str, Any]:
    shape = "it has name, because, json, append, files and remove"
    if not isinstance(given, Mapping) or set(map(str, given)) - _OVERLAY_KEYS:
        raise UsageError(f"the overlay of {repo} cannot be read", shape)
    name = str(given.get("name", "served"))
    if not _NAME.fullmatch(name):
        raise UsageError(f"the overlay of {repo} cannot be called {name!r}", "lower-case letters, digits and hyphens")
    for key in ("json", "append", "files"):
        if not isinstance(given.get(key) or {}, Mapping):
            raise UsageError(f"the overlay of {repo}: {key} is no mapping of paths", shape)
    for path, lists in (given.get("append") or {}).items():
        if not isinstance(lists, Mapping) or not all(isinstance(more, list) for more in lists.values()):
            raise UsageError(f"the overlay of {repo}: append to {path} maps keys to lists", "a.b.c: [entry]")
    made = {key: given[key] for key in sorted(_OVERLAY_KEYS) if given.get(key)} | {"name": name}
    digest = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
    return {**made, "definition": digest[:16]}


def _settings(wanted: Mapping[str, Any], stored: Models | None) -> list[Setting]:
    key, revision = f"model {wanted['repo']}", wanted["revision"]
    if stored is None:
        return [Setting(key, wanted["folder"], revision, "", State.UNSEEN, "the store could not be looked at")]
    model = stored.at(wanted["folder"])
    size = f"{model.size / 1e9:.1f} GB" if model and model.size else "size not known yet"
    why = f"the inventory pins it ({size}, every file proved by its hash)"
    lacks = _lacks(model, wanted)
    found = [setting(key, revision, lacks or revision, why, path=wanted["folder"])]
    if overlay := wanted["overlay"]:
        differs = models.outdated(model.overlay if model else None, overlay["definition"])
        because = str(overlay.get("because") or "the inventory changes files of this model")
        found.append(
            setting(f"{key} overlay", overlay["name"], differs or overlay["name"], because, path=wanted["path"])
        )
    return found


def _lacks(model: StoredModel | None, wanted: Mapping[str, Any]) -> str:
    lacks = models.unfinished(model)
    if lacks or model is None:
        return lacks
    if (list(model.include), list(model.exclude)) != (wanted["include"], wanted["exclude"]):
        return "other files of it were chosen"
    return models.unproved(model)


def _facts(wanted: list[dict[str, Any]], root: str, options: Options) -> dict[str, Any]:
    lines = [
        " ".join([w["folder"], *([w["overlay"]["definition"], w["path"]] if w["overlay"] else [])]) for w in wanted
    ]
    given = [{k: v for k, v in w.items() if k not in ("folder", "path")} for w in wanted]
    spec = {
        "root": root,
        "endpoint": str(options["endpoint"]),
        "token_file": str(options["token_file"]),
        "jobs": int(options["connections"]),
        "keep_free": int(options["keep_free_gb"]) * 10**9,
        "full": options["verify"] == "full",
        "models": given,
    }
    return {
        "list": "".join(f"{line}\n" for line in lines),
        "spec": spec,
        # The links of an overlay lead to the model beside it, so a container needs the folder above both.
        "models": [
            {"repo": w["repo"], "revision": w["revision"], "path": w["path"], "mount": w["folder"].rpartition("/")[0]}
            for w in wanted
        ],
        "environment": {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
    }


PLAN = RolePlan(role="model_store", kinds=(Models,), defaults=DEFAULTS, make=make, needs_class=False)
