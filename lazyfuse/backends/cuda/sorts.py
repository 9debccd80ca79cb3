"""Sorting on a GPU: thrust, through CuPy, with NumPy's order of what is not ordered.

CuPy compares where it sorts rows, NaN last. A single axis of floats it sorts by their bits in a
radix sort, which is several times as fast and puts a NaN with a sign first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Elements from which a radix sort is worth the kernels around it.
LONG = 1 << 14


def along(cupy: Any, function: Callable[..., Any], array: Any, axis: int) -> Any:
    """`function(rows, axis=-1)`, stable, of the rows along an axis."""
    moved = cupy.moveaxis(array, axis, -1)
    rows = moved.reshape((-1, moved.shape[-1]))
    return cupy.moveaxis(function(rows, axis=-1).reshape(moved.shape), -1, axis)


def has_ties(cupy: Any, array: Any, places: Any, axis: int) -> bool:
    """Whether elements along an axis, whose sorted places are given, are equal, as NaNs are.
    Waits. (float32 denormals are equal to CuPy: that is yes too often.)"""
    found = cupy.moveaxis(cupy.take_along_axis(array, places, axis), axis, -1)
    left, right = found[..., :-1], found[..., 1:]
    equal = cupy.equal(left, right)
    if array.dtype.kind in "fc":
        equal = equal | (cupy.isnan(left) & cupy.isnan(right))
    return bool(equal.any())


def by_bits(cupy: Any, array: Any) -> Any:
    """One axis of floats, sorted as integers; -0.0 before 0.0.

    Bits order floats when those of negative ones are turned; then the least are NaNs with a sign.
    Counted from -inf on, without carry, they come after all others.
    """
    unsigned = np.dtype(f"u{array.dtype.itemsize}")
    sign = unsigned.type(1 << (8 * unsigned.itemsize - 1))
    least = ~np.array(-np.inf, array.dtype).view(unsigned)[()]
    bits = cupy.ascontiguousarray(array).view(unsigned)
    found = cupy.sort(cupy.where(bits & sign, ~bits, bits | sign) - least) + least
    return cupy.where(found & sign, found ^ sign, ~found).view(array.dtype)
