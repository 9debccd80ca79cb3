"""Shapes by tuple arithmetic: NumPy's rules without calling NumPy."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.exceptions import AxisError

Shape: TypeAlias = tuple[int, ...]


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The common shape. Raises ValueError in NumPy's words when there is none."""
    first = shapes[0]
    for shape in shapes:
        if shape != first:
            return _broadcast_unequal(shapes)
    return first


def _broadcast_unequal(shapes: Sequence[Shape]) -> Shape:
    ndim = max(len(shape) for shape in shapes)
    result = [1] * ndim
    for shape in shapes:
        for position, extent in enumerate(shape, ndim - len(shape)):
            if extent == 1 or extent == result[position]:
                continue
            if result[position] != 1:
                shown = "".join(f"{shape_text(shape)} " for shape in shapes)
                raise ValueError(f"operands could not be broadcast together with shapes {shown}")
            result[position] = extent
    return tuple(result)


def shape_text(shape: Shape) -> str:
    """A shape as NumPy's messages show it: (2,3), (4,)."""
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def normalize_axis(axis: int, ndim: int, name: str | None = None) -> int:
    """A non-negative axis. Raises numpy.exceptions.AxisError, about the argument `name`, through
    `normalize_axes`' caller."""
    if not -ndim <= axis < ndim:
        raise AxisError(axis, ndim, name)
    return axis % ndim if ndim else 0


def integer(value: Any) -> int:
    """An extent or the like as an int. Raises: TypeError for what is none, bools among them."""
    if isinstance(value, bool | np.bool):
        raise TypeError("an integer is required")
    return operator.index(value)


def integers(extents: Iterable[Any]) -> list[int]:
    """The extents of a shape as ints. Raises: ValueError for more axes than NumPy's arrays have,
    which it looks at first; TypeError."""
    given = list(extents)
    if len(given) > MOST_AXES:
        raise ValueError(
            f"maximum supported dimension for an ndarray is currently {MOST_AXES}, "
            f"found {len(given)}"
        )
    return [integer(extent) for extent in given]


#: NPY_MAXDIMS of NumPy 2.
MOST_AXES = 64


def size_of(shape: Shape) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def reduced(shape: Shape, axes: Sequence[int], *, keepdims: bool) -> Shape:
    """The shape after a reduction over `axes` (non-negative, distinct)."""
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)
