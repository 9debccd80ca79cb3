"""Means and variances of NumPy's arrays that are written into arrays of ours.

`x.mean(out=ours)` of a NumPy array is NumPy's own Python code: it adds into `out`, and divides and
takes the root in place only where what the sum gave is an ndarray to `isinstance`. So it is given
an object that says so and stands for our array.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

_NUMPYS: Any = importlib.import_module("numpy._core._methods")
_VARIANCE, _DEVIATION = _NUMPYS._var.__code__, _NUMPYS._std.__code__
_AVERAGES = frozenset((_VARIANCE, _NUMPYS._mean.__code__))


def written(array: Any) -> Any:
    """What a sum that NumPy's code asked for gives it, when it has been written into `array`: what
    stands for it where that code goes on. To be called by what NumPy calls."""
    return _Sum(array) if sys._getframe(2).f_code in _AVERAGES else array


class _Sum:
    """An array of ours that is an ndarray to `isinstance`."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def __class__(self) -> Any:
        return np.ndarray

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError("__class__ of a sum cannot be set")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """The array itself, once it is what was asked for."""
        operands = [self._array if value is self else value for value in inputs]
        getattr(ufunc, method)(*operands, **{**kwargs, "out": self._array})
        frame = sys._getframe(1)
        is_inner = frame.f_code is _VARIANCE and getattr(frame.f_back, "f_code", 0) is _DEVIATION
        return self if is_inner else self._array
