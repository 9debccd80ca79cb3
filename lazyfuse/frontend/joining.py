"""Joining arrays: one new array, written region by region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.convert import ForeignError
from lazyfuse.frontend.creation import empty
from lazyfuse.frontend.manipulation import (
    asarray,
    atleast_1d,
    atleast_2d,
    expand_dims,
    ravel,
    transpose,
)
from lazyfuse.ops.shapes import normalize_axis


def concatenate(
    arrays: Any,
    /,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Any:
    """Join along an existing axis: one new array, written region by region.

    Raises: ValueError when the other axes differ or there is nothing to join.
    """
    try:
        items = [asarray(item) for item in arrays]
    except ForeignError:
        return fallback.call(np.concatenate, list(arrays), axis)
    if not items:
        raise ValueError("need at least one array to concatenate")
    if out is not None or len({item._storage.device for item in items}) > 1:
        return fallback.call(np.concatenate, items, axis, out, dtype=dtype, casting=casting)
    if axis is None:
        items, axis = [ravel(item) for item in items], 0
    _check_joinable(items, axis)
    axis = normalize_axis(axis, items[0].ndim)
    target = (
        np.dtype(dtype) if dtype is not None else np.result_type(*(item.dtype for item in items))
    )
    return _joined(items, axis, target, casting)


def _check_joinable(items: Sequence[Any], axis: int) -> None:
    first = items[0]
    if first.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, first.ndim)
    for number, item in enumerate(items):
        if item.ndim != first.ndim:
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but along dimension {0}, the array at index 0 has {first.ndim} "
                f"dimension(s) and the array at index {number} has {item.ndim} dimension(s)"
            )
        for other in range(first.ndim):
            if other != axis and item.shape[other] != first.shape[other]:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {other}, the array at index 0 has size "
                    f"{first.shape[other]} and the array at index {number} has size "
                    f"{item.shape[other]}"
                )


def _joined(items: Sequence[Any], axis: int, dtype: np.dtype, casting: str) -> Any:
    if not all(np.can_cast(item.dtype, dtype, casting) for item in items):  # type: ignore[arg-type]  # NumPy checks it
        raise TypeError(f"Cannot cast array data to {dtype!r} according to the rule '{casting}'")
    result = _empty_like_all(items, axis, dtype)
    start = 0
    for item in items:
        stop = start + item.shape[axis]
        result[(slice(None),) * axis + (slice(start, stop),)] = item
        start = stop
    return result


def _empty_like_all(items: Sequence[Any], axis: int, dtype: np.dtype) -> Any:
    """The joined array, its axes in the memory order on which all parts agree
    (PyArray_ConcatenateArrays)."""
    shape = list(items[0].shape)
    shape[axis] = sum(item.shape[axis] for item in items)
    slowest_first = sorted_axes([item._layout.strides for item in items], items[0].shape)
    result = empty(tuple(shape[number] for number in slowest_first), dtype, device=items[0].device)
    return transpose(result, np.argsort(slowest_first).tolist())


def sorted_axes(strides: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> list[int]:
    """Axes by |stride|, slowest first; arrays that disagree leave C order
    (PyArray_CreateMultiSortedStridePerm)."""
    order = [0] if shape else []
    for axis in range(1, len(shape)):
        place = axis
        for position in range(axis - 1, -1, -1):
            other = order[position]
            if shape[axis] == 1 or shape[other] == 1:
                continue
            if not all(abs(own[axis]) > abs(own[other]) for own in strides):
                break
            place = position
        order.insert(place, axis)
    return order


def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Join along a new axis."""
    items = [asarray(item) for item in arrays]
    if not items:
        raise ValueError("need at least one array to stack")
    if any(item.shape != items[0].shape for item in items):
        raise ValueError("all input arrays must have the same shape")
    place = normalize_axis(axis, items[0].ndim + 1)
    return concatenate(
        [expand_dims(item, place) for item in items], place, out, dtype=dtype, casting=casting
    )


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return concatenate([atleast_2d(item) for item in tup], 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    items = [atleast_1d(item) for item in tup]
    axis = 0 if items and items[0].ndim == 1 else 1
    return concatenate(items, axis, dtype=dtype, casting=casting)
