"""A JSON file that several programs own together: read, and keys laid over it."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from qops.errors import UsageError

Values = Mapping[str, Any]


class Content(Struct, frozen=True):
    """What a JSON object in a file says. `problem` says why it cannot be read, at `line`; then `values` is empty."""

    values: Values = field(default_factory=dict)
    problem: str = ""
    line: int = 0


def read(text: str) -> Content:
    """Return the content of a file; one without anything in it says nothing."""
    if not text.strip():
        return Content()
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        return Content({}, f"is no JSON: {error.msg}, column {error.colno}", error.lineno)
    except RecursionError:
        return Content({}, "is no JSON that can be read: too deep", 1)
    if not isinstance(values, dict):
        return Content({}, f"holds no object but a {type(values).__name__}", 1)
    if "\ufffd" in text:
        return Content({}, "is not UTF-8", text[: text.index("\ufffd")].count("\n") + 1)
    return Content(values)


def merged(values: Values, wanted: Values) -> dict[str, Any]:
    """Return `values` with `wanted` laid over them; every other key stays, in its place."""
    result = dict(values)
    for key, value in wanted.items():
        before = result.get(key)
        result[key] = merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return result


def text(values: Values) -> str:
    """Return an object as nvidia-ctk writes it too: four spaces."""
    return json.dumps(values, indent=4, ensure_ascii=False) + "\n"


def laid_over(path: str, before: bytes, wanted: Values) -> bytes:
    """Return a file's bytes with `wanted` in it: the same bytes where that is so. UsageError when it is no object."""
    content = read(before.decode(errors="replace"))
    if content.problem:
        raise UsageError(f"{path}:{content.line} {content.problem}", "mend or remove the file")
    whole = merged(content.values, wanted)
    return before if whole == content.values else text(whole).encode()
