"""Secrets that stand in plain text in an inventory."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from qops import redaction
from qops.inventory.declared import VAULTED, Declared
from qops.inventory.mistakes import Mistake

# Names whose value is a secret; what ends with _file, _path or _env only says where one is.
_NAME = re.compile(
    r"(?:^|_)(?:password|passwd|passphrase|pass|token|secret|api_?key|secret_?key|private_?key|credentials?)$", re.I
)
_NOT = re.compile(r"^(?:|none|null|auto|leave|prompt|\{\{.*|\$\{?[A-Z_]+\}?)$", re.I | re.S)
_VAULT = "put it into a file of its own and run `ansible-vault encrypt` on that, or `ansible-vault encrypt_string`"


def plain(variables: Iterable[Declared]) -> Iterator[Mistake]:
    """Yield variables that hold a secret which ansible-vault does not keep. The secret is never told."""
    for one in variables:
        for name, value in _leaves(one.name, one.value):
            kinds = redaction.tokens(value.encode("utf-8", "surrogateescape")) if "{{" not in value else ()
            if kinds:
                yield Mistake(f"{name} holds a secret in plain text ({kinds[0]}): {_VAULT}", one.where)
            elif _NAME.search(name.rpartition(".")[2]) and not _NOT.match(value.strip()):
                yield Mistake(f"{name} holds a secret in plain text: {_VAULT}", one.where)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if value is VAULTED or value is None or isinstance(value, bool):
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}", inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(name, inner)
    else:
        yield name, str(value)
