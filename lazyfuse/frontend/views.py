"""Views that re-index an array: flips, rotations, diagonals, broadcasts."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lazyfuse.frontend.handle import WARNS, Handle, read_only, view
from lazyfuse.frontend.manipulation import asarray, swapaxes
from lazyfuse.frontend.relayout import remembered
from lazyfuse.ir.layout import Layout
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.ops.shapes import MOST_AXES, broadcast, normalize_axis
from lazyfuse.runtime.caller import warn_here


@remembered
def flip(m: Any, axis: Any = None) -> Any:
    """Reverse the order along axes. Aliasing: a view."""
    m = asarray(m)
    turned = normalize_axis_tuple(range(m.ndim) if axis is None else axis, m.ndim)
    return m[tuple(slice(None, None, -1) if x in turned else slice(None) for x in range(m.ndim))]


@remembered
def flipud(m: Any) -> Any:
    """Reverse the first axis. Aliasing: a view."""
    return flip(m, 0)


@remembered
def fliplr(m: Any) -> Any:
    """Reverse the second axis. Aliasing: a view."""
    if asarray(m).ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


@remembered
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turn by 90 degrees k times in the plane of two axes. Aliasing: a view."""
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    m = asarray(m)
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    if any(not -m.ndim <= axis < m.ndim for axis in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    first, second = (normalize_axis(axis, m.ndim) for axis in axes)
    match _turns(k):
        case 0:
            return m[...]
        case 1:
            return swapaxes(flip(m, second), first, second)
        case 2:
            return flip(flip(m, first), second)
    return flip(swapaxes(m, first, second), second)


def _turns(k: Any) -> Any:
    """How many times it is turned. NumPy 2.5 makes an integer of what is none, and says so."""
    try:
        return operator.index(k) % 4
    except TypeError:
        if NUMPY < (2, 5):
            return k % 4
    warn_here(
        f"Passing a value for k ({k!r}) that is not an integer type has been deprecated in "
        "NumPy 2.5. The value will be cast to an integer.  In the future this will be an error.",
        DeprecationWarning,
    )
    return int(k) % 4


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of the planes of two axes. Aliasing: a read-only view."""
    if type(a) is not Handle._concrete:
        a = asarray(a)
    found = _diagonal(a._layout, *map(operator.index, (offset, axis1, axis2)))
    return view(a, found, writeable=read_only(a))


@lru_cache(maxsize=1024)
def _diagonal(layout: Layout, offset: int, axis1: int, axis2: int) -> Layout:
    ndim = len(layout.shape)
    if ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first = normalize_axis(axis1, ndim, "axis1")
    second = normalize_axis(axis2, ndim, "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    rows, columns = layout.shape[first] + min(offset, 0), layout.shape[second] - max(offset, 0)
    start = layout.offset + (
        offset * layout.strides[second] if offset > 0 else -offset * layout.strides[first]
    )
    length = max(min(rows, columns), 0)
    rest = [axis for axis in range(ndim) if axis not in (first, second)]
    shape = (*(layout.shape[axis] for axis in rest), length)
    strides = (
        *(layout.strides[axis] for axis in rest),
        layout.strides[first] + layout.strides[second],
    )
    return Layout(shape, strides, start if length else layout.offset)


def diagonal_method(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return diagonal(self, offset, axis1, axis2)


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """A read-only view of a larger shape. Raises: ValueError when the shapes do not fit."""
    array = asarray(array)
    given = tuple(shape) if np.iterable(shape) else (shape,)
    if len(given) > MOST_AXES:
        np.broadcast_to(0, (1,) * len(given))  # raises
    if any(extent < 0 for extent in given):
        raise ValueError("all elements of broadcast shape must be non-negative")
    target = tuple(map(operator.index, given))
    try:
        fits = broadcast([array.shape, target]) == target
    except ValueError:
        fits = False
    if not fits:
        np.broadcast_to(np.broadcast_to(0, array.shape), target)  # raises
    skip = len(target) - array.ndim
    strides = tuple(
        0 if axis < skip or array.shape[axis - skip] == 1 else array._layout.strides[axis - skip]
        for axis in range(len(target))
    )
    found = Layout(target, strides, array._layout.offset)
    return view(array, found, writeable=read_only(array))


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """The arrays at their common shape: themselves where they have it, else views, which may be
    written as NumPy's may (an element of theirs can be several of the result)."""
    arrays = [asarray(arg) for arg in args]
    if not arrays:
        return ()
    shape = broadcast([array.shape for array in arrays])
    return tuple(
        array if array.shape == shape else _broadcast_view(array, shape) for array in arrays
    )


def _broadcast_view(array: Any, shape: Any) -> Any:
    found = broadcast_to(array, shape)
    found._writeable = array._writeable and WARNS
    return found


def diag(v: Any, k: Any = 0) -> Any:
    """`np.diag` of a matrix of the engine; None for others."""
    if type(v) is not Handle._concrete or v._host is not None or type(k) is not int:
        return None
    return diagonal(v, k) if len(v._layout.shape) == 2 else None
