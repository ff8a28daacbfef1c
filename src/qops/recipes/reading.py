"""A recipe out of its document; whatever is wrong is said with file and line."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from qops.data.engines import ENGINES
from qops.flags.command import Command
from qops.flags.document import Item
from qops.recipes import versions
from qops.recipes.recipe import Dropped, Engine, Figure, Flag, Hardware, Image, Model, Recipe, Template

CLASSES = ("spark", "rtxpro", "rtx5090", "hgx")
PATHS = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS")
_NAME = re.compile(r"[a-z0-9][a-z0-9.\-]{0,40}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.\-]{0,95}/[A-Za-z0-9][\w.\-]{0,95}", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_IMAGE = re.compile(r"[\w.\-]+(?::[0-9]{1,5})?(?:/[\w.\-]+)*(?::\w[\w.\-]{0,127})?(?:@sha256:[0-9a-f]{64})?", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}", re.ASCII)
_FLAG = re.compile(r"--?[A-Za-z][\w.\-]{0,100}", re.ASCII)
_SECRET = re.compile(r"TOKEN|API_?KEY|PASSWORD|SECRET", re.I)
_WORLD = {
    "vllm": ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size"),
    "sglang": ("--tensor-parallel-size", "--tp-size", "--pipeline-parallel-size", "--pp-size"),
}

T = TypeVar("T")


def recipe(item: Item) -> Recipe:
    """Return the recipe of a document, which is merged with what it extends. UsageError for what cannot be."""
    keys = _known(item, Recipe, {"place"})
    name = _text(item, keys, "name", _NAME, "at most 41 lower-case letters, digits, dots and hyphens")
    engine = _engine(_need(item, keys, "engine"))
    found = Recipe(
        name=name,
        about=_text(item, keys, "about"),
        place=item.place,
        model=_model(_need(item, keys, "model")),
        engine=engine,
        image=_image(_need(item, keys, "image")),
        hardware=_hardware(_need(item, keys, "hardware")),
        served_name=_text(item, keys, "served_name"),
        port=_number(_need(item, keys, "port"), 1, 65535),
        flags=tuple(_flag(one) for one in _list(keys.get("flags"))),
        environment=_variables(keys.get("environment")),
        by_hand=_variables(keys.get("by_hand")),
        chat_template=_template(keys["chat_template"]) if "chat_template" in keys else None,
        gpus=tuple(_number(one, 0, 1023) for one in _list(keys.get("gpus"))),
        warnings=tuple(_scalar(one) for one in _list(keys.get("warnings"))),
        dropped=tuple(_row(one, Dropped) for one in _list(keys.get("dropped"))),
        figures=tuple(_row(one, Figure) for one in _list(keys.get("figures"))),
        retired=_scalar(keys["retired"]) if "retired" in keys else "",
        extends=_scalar(keys["extends"]) if "extends" in keys else "",
    )
    _consistent(item, keys, found)
    return found


def _consistent(item: Item, keys: Mapping[str, Item], made: Recipe) -> None:
    tag = Command(made.engine.name, "", (), image=made.image.name).tag
    if tag and tag not in made.engine.versions:
        keys["image"].fail(f"the image is {tag}, and engine says {made.engine.versions}", "make them agree")
    flags = keys.get("flags", item)
    given: set[str] = set()
    for one in _list(keys.get("flags")):
        if _flag(one).name in given:
            one.fail(f"{_flag(one).name} is given twice", "give it once")
        given.add(_flag(one).name)
        if _flag(one).name in ("--served-model-name", "--port", "--host", "--model", "--model-path", "--chat-template"):
            one.fail(f"{_flag(one).name} comes from the recipe's own fields", "served_name, port, model, chat_template")
        if _flag(one).name in ("--api-key", "--admin-api-key"):
            one.fail("a key in a command line is everybody's to read", "put it into inference_service_secrets")
    world = 1
    for name in _WORLD[made.engine.name]:
        value = made.flag(name)
        if value is not None:
            world *= int(value) if value.isascii() and value.isdigit() else 0
    if world != made.hardware.gpus:
        flags.fail(f"the flags take {world} GPUs, and hardware says {made.hardware.gpus}", "make them agree")
    if made.gpus and len(set(made.gpus)) != made.hardware.gpus:
        keys["gpus"].fail(f"{len(set(made.gpus))} GPUs are named, and hardware says {made.hardware.gpus}")


def _model(item: Item) -> Model:
    keys = _known(item, Model, set())
    repository = _text(item, keys, "repository", _REPOSITORY, "OWNER/NAME, as the hub writes it")
    revision, because = keys.get("revision"), _optional(keys, "because")
    if revision is not None and revision.kind != "null" and not _COMMIT.fullmatch(revision.text):
        revision.fail(f"{revision.text!r} is no commit", "40 hexadecimal digits, or null with because")
    if (revision is None or revision.kind == "null") and not because:
        item.fail("the model has no revision and does not say why", "revision: COMMIT, or because: WHY NOT")
    size = keys.get("bytes")
    known = size is not None and size.kind != "null"
    if known and not _optional(keys, "source"):
        item.fail("bytes without source", "say where the size is from")
    return Model(
        repository,
        revision.text if revision is not None and revision.kind != "null" else None,
        because,
        _number(size, 1, 10**14) if size is not None and known else None,
        _optional(keys, "source"),
        tuple(one.plain() for one in _list(keys.get("overlays"))),
    )


def _engine(item: Item) -> Engine:
    keys = _known(item, Engine, set())
    name = _choice(_need(item, keys, "name"), ENGINES)
    written = _need(item, keys, "versions")
    try:
        return Engine(name, versions.parse(_scalar(written)))
    except ValueError as error:
        written.fail(str(error))


def _image(item: Item) -> Image:
    keys = _known(item, Image, set())
    name = _text(item, keys, "name", _IMAGE, "REPOSITORY:TAG, REPOSITORY@sha256:… or REPOSITORY:TAG@sha256:…")
    if "@" not in name and ":" not in name.rpartition("/")[2]:
        keys["name"].fail(f"{name} names no release", "add :TAG or @sha256:…")
    if name.endswith((":latest", ":nightly")):
        keys["name"].fail(f"{name} is another image tomorrow", "name a release or a digest")
    return Image(name, _text(item, keys, "because"), _optional(keys, "cuda"))


def _hardware(item: Item) -> Hardware:
    keys = item.mapping
    for key, value in item.keys:
        if key not in ("class", "gpus", "memory_gib", "paths"):
            value.fail(f"hardware has no {key}", "it has class, gpus, memory_gib and paths")
    return Hardware(
        _choice(_need(item, keys, "class"), CLASSES),
        _number(_need(item, keys, "gpus"), 1, 1024),
        _number(_need(item, keys, "memory_gib"), 1, 100_000),
        _choice(keys["paths"], PATHS) if "paths" in keys else "",
    )


def _flag(item: Item) -> Flag:
    hint = "write `- --name` or `- --name: value`"
    if item.kind == "map":
        if len(item.keys) != 1:
            item.fail("one flag in each line", hint)
        name, value = item.keys[0]
        if not _FLAG.fullmatch(name):
            item.fail(f"{name!r} is no flag", hint)
        if value.kind in ("null", "bool"):
            value.fail(f"{name} has no value", hint)
        if value.kind in ("map", "seq"):
            return Flag(name, json.dumps(value.plain(), separators=(",", ":"), ensure_ascii=False))
        return Flag(name, _clean(value))
    if not _FLAG.fullmatch(_scalar(item)):
        item.fail(f"{item.text!r} is no flag", hint)
    return Flag(item.text)


def _variables(item: Item | None) -> dict[str, str]:
    if item is None or item.kind == "null":
        return {}
    if item.kind != "map":
        item.fail("variables are a mapping of names to values")
    found: dict[str, str] = {}
    for name, value in item.keys:
        if not _VARIABLE.fullmatch(name):
            value.fail(f"{name!r} is no name of a variable")
        if _SECRET.search(name) and not name.endswith(("_PATH", "_FILE")):
            value.fail(f"{name} looks like a secret", "put it into inference_service_secrets")
        if value.kind != "null":  # null takes out what an extended recipe has
            found[name] = _scalar(value)
    return found


def _template(item: Item) -> Template:
    keys = _known(item, Template, set())
    file = keys.get("file")
    path = None if file is None or file.kind == "null" else _scalar(file)
    if path is not None and file is not None and not re.fullmatch(r"/[^\s,:]+", path):
        file.fail(f"{path!r} is no path on the host", "an absolute path without blanks, commas and colons")
    return Template(path, _text(item, keys, "because"))


def _row(item: Item, kind: Callable[..., T]) -> T:
    keys = _known(item, kind, set())
    return kind(
        **{
            name: _text(item, keys, name) if name in keys or name != "instead" else ""
            for name in kind.__struct_fields__  # type: ignore[attr-defined]
        }
    )


def _known(item: Item, kind: Any, without: set[str]) -> dict[str, Item]:
    names = [name for name in kind.__struct_fields__ if name not in without]
    if item.kind != "map":
        item.fail(f"{kind.__name__.lower()} is a mapping", f"it has {', '.join(names)}")
    for key, value in item.keys:
        if key not in names:
            value.fail(f"{kind.__name__.lower()} has no {key}", f"it has {', '.join(names)}")
    return item.mapping


def _need(item: Item, keys: Mapping[str, Item], name: str) -> Item:
    if name not in keys:
        item.fail(f"{name} is missing")
    return keys[name]


def _list(item: Item | None) -> tuple[Item, ...]:
    if item is None or item.kind == "null":
        return ()
    if item.kind != "seq":
        item.fail("this is a list")
    return item.items


def _text(item: Item, keys: Mapping[str, Item], name: str, shape: re.Pattern[str] | None = None, hint: str = "") -> str:
    value = _need(item, keys, name)
    text = _scalar(value)
    if not text or (shape and not shape.fullmatch(text)):
        value.fail(f"{name} cannot be {text!r}", hint)
    return text


def _optional(keys: Mapping[str, Item], name: str) -> str:
    return _scalar(keys[name]) if name in keys and keys[name].kind != "null" else ""


def _scalar(item: Item) -> str:
    if item.kind in ("map", "seq", "null"):
        item.fail("this is a text", "put quotes around a text with a colon in it" if item.kind == "map" else "")
    return _clean(item)


def _clean(item: Item) -> str:
    if "\n" in item.text or "\t" in item.text:
        item.fail("a line that ends, or a tab", "keep it in one line")
    return item.text


def _number(item: Item, least: int, most: int) -> int:
    if item.kind != "int" or not (item.text.isascii() and item.text.isdigit()) or not least <= int(item.text) <= most:
        item.fail(f"{item.text or 'this'} is no number from {least} to {most}")
    return int(item.text)


def _choice(item: Item, choices: tuple[str, ...]) -> str:
    if _scalar(item) not in choices:
        item.fail(f"{item.text!r} is none of {', '.join(choices)}")
    return item.text
