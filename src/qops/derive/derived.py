"""A derived value with its reason, so that whoever uses it can say why."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Derived(Generic[T]):
    """What a value should be, and because of what."""

    value: T
    because: str
