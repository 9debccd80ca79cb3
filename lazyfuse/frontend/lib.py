"""`lazyfuse.lib`: NumPy's, with the functions of `stride_tricks` that make views."""

from __future__ import annotations

import importlib
import types
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback, recasting
from lazyfuse.frontend.function import Function
from lazyfuse.frontend.handle import Handle


class Library(types.ModuleType):
    """A module of NumPy with some names of our own."""

    def __init__(self, module: types.ModuleType, own: dict[str, Any]) -> None:
        super().__init__(f"lazyfuse{module.__name__.removeprefix('numpy')}", module.__doc__)
        self.__dict__.update(own)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def __dir__(self) -> list[str]:
        return dir(self._module)

    def __reduce__(self) -> tuple[Any, ...]:
        """By name, for functions of the user's that are sent elsewhere with what they refer to."""
        return importlib.import_module, (self.__name__,)


def _at_once(name: str, engine: Any) -> Any:
    return Function(f"lib.stride_tricks.{name}", engine, getattr(np.lib.stride_tricks, name))


def byte_bounds(a: Any) -> tuple[int, int]:
    """The addresses of the first byte of an array, which is computed, and behind its last."""
    is_small = isinstance(a, Handle) and a._host is not None
    return np.lib.array_utils.byte_bounds(a._host if is_small else fallback.lower(a))


stride_tricks = Library(
    np.lib.stride_tricks,
    {
        "as_strided": recasting.as_strided,
        "sliding_window_view": _at_once("sliding_window_view", recasting.sliding_window_view),
    },
)
array_utils = Library(np.lib.array_utils, {"byte_bounds": byte_bounds})
lib = Library(np.lib, {"stride_tricks": stride_tricks, "array_utils": array_utils})
