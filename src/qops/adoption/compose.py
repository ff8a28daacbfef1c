"""A compose file that starts engines, put into the words of `docker run`."""

from collections.abc import Iterator, Sequence
from functools import partial

from qops.adoption import expansion
from qops.adoption.found import Found, Left, Reader, shown
from qops.adoption.options import UNREAD, Option, beside
from qops.adoption.reasons import OF_CONTAINERS, OTHER_CONTAINER
from qops.adoption.script import assembled
from qops.flags import compose
from qops.flags.document import Item
from qops.flags.shell import Word
from qops.flags.sources import assignments

_WHOLE = "docker compose config > whole.yaml, and adopt that"
_ELSEWHERE = frozenset(("image", "command", "entrypoint", "env_file"))
_AS_IT_IS = {
    "container_name": "--name", "runtime": "--runtime", "network_mode": "--network", "gpus": "--gpus",
}  # fmt: skip


def read(text: str, source: str, values: dict[str, str], reader: Reader) -> list[Found]:
    """Return the engines of a compose file. `values` are the variables around it; `.env` beside it is read too.

    UsageError, with file and line, for what is no compose file.
    """
    beside = reader(f"{values.get('PWD', '')}/.env") or ""
    known = {one.name: one.value for one in assignments(beside)} | values
    found: list[Found] = []
    others: list[Left] = []
    lines = text.splitlines()
    for name, item in compose.services(text, source).items():
        made = _service(name, item, source, lines, known, reader)
        if made is None:
            told = f"service {name}" if name else "this"
            others.append(Left(item.place, told, "it starts neither vLLM nor SGLang"))
        else:
            found.append(made)
    for made in found[:1]:
        made.left += others
    return found


def _service(
    name: str, item: Item, source: str, lines: Sequence[str], values: dict[str, str], reader: Reader
) -> Found | None:
    keys = compose.mapping(item)
    if "extends" in keys:
        keys["extends"].fail("what a service extends is not followed", _WHOLE)
    for key in ("command", "entrypoint"):
        if key in keys and keys[key].kind == "map":
            keys[key].fail(f"{key} is a text or a list")
    fill = partial(expansion.text, values=values)
    entry, command = (compose.words(keys.get(key), lines, fill) for key in ("entrypoint", "command"))
    image = expansion.text(keys["image"].text, values) if "image" in keys else ""
    made = Found(source, item.line, name=name, runtime="docker", image=image)
    given = list(_files(made, keys.get("env_file"), values, reader))  # `environment` goes over them, wherever it stands
    for key, value in keys.items():
        if key not in _ELSEWHERE and not key.startswith("x-"):
            given += _options(made, key, value, values)
    whole = assembled(made, entry, command, given, values, reader)
    if whole is not None and not image:
        item.fail(f"service {name} is built here and has no image", "give the image a name (image), and build it first")
    return whole


def _options(made: Found, key: str, value: Item, values: dict[str, str]) -> Iterator[Option]:
    if key == "environment":
        yield from (("--env", word) for word in _variables(value, values))
    elif key == "ports":
        yield from (("--publish", _port(one, values)) for one in compose.items(value))
    elif key == "volumes":
        yield from _volumes(made, value, values)
    elif key == "devices":
        yield from (
            ("--device", _text(compose.mapping(one).get("source", one), values)) for one in compose.items(value)
        )
    elif key == "deploy":
        yield from _deploy(made, value, values)
    elif key in _AS_IT_IS and value.kind not in ("map", "seq"):
        yield _AS_IT_IS[key], _text(value, values)
    elif key == "gpus":
        yield from (("--gpus", _request(one, values)) for one in compose.items(value))
    else:
        plain = expansion.text(value.text, values) if value.kind not in ("map", "seq") else ""
        because = OF_CONTAINERS.get(key.replace("_", "-"), OTHER_CONTAINER)
        made.leave(value.line, shown(f"{key}:", plain), because)


def _variables(value: Item, values: dict[str, str]) -> Iterator[Word]:
    for name, one in compose.mapping(value).items():
        # Nothing after the colon: the variable of whoever starts it.
        yield Word(name if one.kind == "null" else f"{name}={_text(one, values).text}", one.line)
    yield from (_text(one, values) for one in value.items)


def _files(made: Found, value: Item | None, values: dict[str, str], reader: Reader) -> Iterator[Option]:
    for one in compose.items(value):
        path = _text(compose.mapping(one).get("path", one), values)
        content = reader(beside(path.text, values))
        if content is None:
            made.leave(path.line, f"env_file: {path.text}", UNREAD)
            continue
        for variable in assignments(content):
            yield "--env", Word(f"{variable.name}={expansion.text(variable.value, values)}", path.line)


def _port(item: Item, values: dict[str, str]) -> Word:
    keys = compose.mapping(item)
    if not keys:
        return _text(item, values)
    parts = [_text(keys[key], values).text for key in ("host_ip", "published", "target") if key in keys]
    return Word(":".join(parts), item.line)


def _volumes(made: Found, value: Item, values: dict[str, str]) -> Iterator[Option]:
    for one in compose.items(value):
        keys = {
            k: _text(inner, values).text
            for k, inner in compose.mapping(one).items()
            if inner.kind not in ("map", "seq")
        }
        if not keys:
            yield "--volume", _text(one, values)
        elif keys.get("type") in ("bind", "volume") and "target" in keys and "source" in keys:
            access = ":ro" if keys.get("read_only") == "true" else ""
            yield "--volume", Word(f"{keys['source']}:{keys['target']}{access}", one.line)
        else:
            made.leave(one.line, f"volume at {keys.get('target', '?')}", OF_CONTAINERS["tmpfs"])


def _deploy(made: Found, value: Item, values: dict[str, str]) -> Iterator[Option]:
    resources = compose.mapping(compose.mapping(value).get("resources"))
    reserved = compose.mapping(resources.get("reservations"))
    for one in compose.items(reserved.get("devices")):
        yield "--gpus", _request(one, values)
    rest = [(f"deploy.{key}", one) for key, one in compose.mapping(value).items() if key != "resources"]
    rest += [(f"deploy.resources.{key}", one) for key, one in resources.items() if key != "reservations"]
    for key, one in rest:
        made.leave(one.line, key, OF_CONTAINERS["memory"] if "limits" in key else OTHER_CONTAINER)


def _request(item: Item, values: dict[str, str]) -> Word:
    """Return a reservation of devices as `--gpus` says it."""
    keys = compose.mapping(item)
    names = [_text(one, values).text for one in compose.items(keys.get("device_ids"))]
    if names:
        return Word(f"device={','.join(one.removeprefix('nvidia.com/gpu=') for one in names)}", item.line)
    return Word(_text(keys["count"], values).text if "count" in keys else "all", item.line)


def _text(item: Item, values: dict[str, str]) -> Word:
    if item.kind in ("map", "seq"):
        item.fail("this is a text")
    return Word(expansion.text(item.text, values), item.line)


def is_compose(text: str) -> bool:
    """Return whether `text` looks like a compose file."""
    heads = ("services:", "x-", "name:", "version:", "image:", "command:", "entrypoint:")
    return any(line.startswith(heads) for line in text.splitlines())
