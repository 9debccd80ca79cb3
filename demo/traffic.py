"""Count the bytes that NumPy moves: run a program once on arrays that add up each call.

Every ufunc call, reduction, `where`, cast and copy reads its inputs once and writes its output
once; that is what is summed. Caches are ignored, for NumPy and for lazyfuse alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any, dict[str, Any]], tuple[Any, ...]]

# Functions written in C that call no ufunc; all others reach `__array_ufunc__` by themselves.
MOVERS = frozenset({np.where, np.concatenate, np.copyto, np.argmin, np.argmax})


def plain(value: Any) -> Any:
    """Give the base ndarray behind a counting array; leave anything else, tuples walked."""
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return value.view(np.ndarray) if isinstance(value, CountingArray) else value


def array_bytes(values: Any) -> int:
    """Sum the sizes of the arrays in a tuple, or of one array."""
    items = values if isinstance(values, tuple) else (values,)
    return sum(item.nbytes for item in items if isinstance(item, np.ndarray | np.generic))


class CountingArray(np.ndarray):
    """An ndarray whose operations add the bytes they read and write to its `tally`."""

    tally: list[int]

    def __array_finalize__(self, source: Any) -> None:
        self.tally = getattr(source, "tally", [0])

    def counted(self, inputs: tuple[Any, ...], result: Any) -> Any:
        """Add one call to the tally and give its result as counting arrays."""
        self.tally[0] += array_bytes(inputs) + array_bytes(result)
        if isinstance(result, tuple):
            return tuple(self.wrapped(item) for item in result)
        return self.wrapped(result)

    def wrapped(self, result: Any) -> Any:
        """Give a result as a counting array with this tally."""
        view = np.asarray(result).view(CountingArray)
        view.tally = self.tally
        return view

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        kwargs = {name: plain(value) for name, value in kwargs.items()}
        sources = tuple(plain(value) for value in inputs)
        return self.counted(sources, getattr(ufunc, method)(*sources, **kwargs))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in MOVERS:
            return super().__array_function__(func, types, args, kwargs)
        sources = tuple(plain(value) for value in args)
        return self.counted(sources, func(*sources, **kwargs))

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        """Cast, and count it."""
        return self.counted((plain(self),), plain(self).astype(*args, **kwargs))

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        """Copy, and count it."""
        return self.counted((plain(self),), plain(self).copy(*args, **kwargs))

    def argmin(self, *args: Any, **kwargs: Any) -> Any:
        """Find the least elements, and count it."""
        return self.counted((plain(self),), plain(self).argmin(*args, **kwargs))


def numpy_bytes(program: Program, data: dict[str, np.ndarray]) -> int:
    """Run `program` once with NumPy and count the bytes its operations read and write."""
    tally = [0]
    counting = {}
    for name, array in data.items():
        counting[name] = array.view(CountingArray)
        counting[name].tally = tally
    program(np, counting)
    return tally[0]
