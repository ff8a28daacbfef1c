"""Stands in for SGLang's GPU kernels (sgl_kernel), of which there is no CPU build: its names exist and compute nothing.

On the CPU SGLang 0.5.23 imports them and, with the attention of torch and a plain model, calls none. What would call
one fails or answers nonsense, so this is for practice alone.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock


class _Parts(MetaPathFinder, Loader):
    """Finds any submodule, such as sgl_kernel.flash_attn."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname.startswith(f"{__name__}.") else None

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__getattr__"] = __getattr__


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock(name=f"sgl_kernel.{name}")


sys.meta_path.append(_Parts())
