"""A derived value with its reason, so that whoever uses it can say why."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Derived(Struct, Generic[T], frozen=True):
    """What a value should be, and because of what."""

    value: T
    because: str
