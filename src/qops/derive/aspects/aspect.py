"""What a comparison of two looks at a host is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Evidence = Mapping[type, Any]
Values = Mapping[str, str]


class Matter(StrEnum):
    """What a change can do to serving."""

    BREAKS = "can stop it"
    SLOWS = "can slow it"
    DIFFERS = "is different"


@dataclass(frozen=True, slots=True)
class Aspect:
    """One aspect. `read` gives its values by name; `because` says why a change of it matters."""

    what: str
    matter: Matter
    because: str
    read: Callable[[Evidence], Values | None]
