"""Stands in for torchvision, which has no CPU build here: text models import it and never call it."""

import sys
import types
from typing import Any

__version__ = "0.28.0"  # asked for before anything else


class InterpolationMode:
    """Names of the ways to scale an image."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    made: Any = types.ModuleType(f"{__name__}.{name}") if name.islower() else type(name, (), {})
    if name.islower():
        sys.modules.setdefault(made.__name__, made)
    return made
