"""Patterns that are compiled when they are first used: most texts need few of the hundreds that the parsers know."""

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _Lazy:
    """Stands for a pattern; its methods are the compiled pattern's own from the first use on."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(*self._source)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return `re.compile(pattern, flags)`, compiled when it is first used."""
    return cast(re.Pattern[str], _Lazy(pattern, flags))
