"""Joining arrays into a new one, written region by region; splitting them into views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lazyfuse.frontend import fallback
from lazyfuse.frontend.at_once import joined
from lazyfuse.frontend.convert import ForeignError, device_beside, to_array
from lazyfuse.frontend.creation import empty
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.manipulation import (
    asarray,
    atleast_1d,
    atleast_2d,
    expand_dims,
    ravel,
    transpose,
)
from lazyfuse.frontend.moves import rolled
from lazyfuse.frontend.registry import NATIVE
from lazyfuse.ir.layout import Layout
from lazyfuse.ops.shapes import normalize_axis
from lazyfuse.runtime.caller import call_as_user


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
    given = list(arrays)
    try:
        home = device_beside(given)
        items = [asarray(item, home) for item in given]
    except ForeignError:
        return fallback.call(np.concatenate, given, axis, out=out, dtype=dtype, casting=casting)
    if not items:
        raise ValueError("need at least one array to concatenate")
    if out is not None or len({item._storage.device for item in items}) > 1:
        return fallback.call(np.concatenate, items, axis, out=out, dtype=dtype, casting=casting)
    if axis is None:
        items, axis = [ravel(item) for item in items], 0
    _check_joinable(items, axis)
    axis = normalize_axis(axis, items[0].ndim)
    numbers = [type(item) in (int, float, complex) for item in given]  # which are weak
    kinds = [
        given[n] if weak else item.dtype
        for n, (item, weak) in enumerate(zip(items, numbers, strict=True))
    ]
    target = np.dtype(dtype) if dtype is not None else np.result_type(*kinds)
    for number, weak in enumerate(numbers):
        if weak and np.result_type(target, given[number]) == target:
            items[number] = items[number].astype(target)
    now = joined(items, axis, target, casting)
    return _joined(items, axis, target, casting) if now is None else now


def block(arrays: Any) -> Any:
    """`np.block` of a list of arrays with an axis or more, or of lists of such with two or more,
    of two dtypes at most (more are promoted pair by pair) and together of no more elements than
    NumPy joins twice; None for all else, and for what NumPy refuses."""
    is_nested = type(arrays) is list and all(type(row) is list for row in arrays)
    rows: list[list[Any]] = arrays if is_nested else [arrays]
    if not _is_table(rows, is_nested):
        return None
    join = NATIVE["concatenate"]
    lines = [row[0] if len(row) == 1 else join(row, axis=-1) for row in rows]
    is_made = len(rows) == 1 and len(rows[0]) > 1
    return lines[0] if is_made else join(lines, axis=-2 if is_nested else -1)


def _is_table(rows: Sequence[Any], is_nested: bool) -> bool:
    """Whether rows, of which there are several only where they are nested, fit each other as they
    are."""
    if not rows or not all(type(row) is list and row for row in rows):
        return False
    items = [item for row in rows for item in row]
    if not all(type(item) is Handle._concrete for item in items):
        return False
    levels, shapes = 1 + is_nested, [[item.shape for item in row] for row in rows]
    axes, dtypes = {len(item.shape) for item in items}, {item._code for item in items}
    if len(axes) > 1 or min(axes) < levels or len(dtypes) > 2:
        return False
    if levels * sum(item.size for item in items) > _TWICE:
        return False
    widths = {sum(shape[-1] for shape in row) for row in shapes}
    outer = {tuple(shape[:-levels]) for row in shapes for shape in row}
    heights = [{shape[:-1] for shape in row} for row in shapes]
    return len(widths) == len(outer) == 1 and all(len(each) == 1 for each in heights)


#: Elements times levels of lists up to which NumPy joins rows, and then these (`numpy.block`).
_TWICE = 2 * 512 * 512


def _check_joinable(items: Sequence[Any], axis: int) -> None:
    first = items[0]
    if first.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, first.ndim)
    for number, item in enumerate(items):
        if item.ndim != first.ndim:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at index "
                f"0 has {first.ndim} dimension(s) and the array at index {number} has {item.ndim} "
                "dimension(s)"
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
    for item in items:
        if not np.can_cast(item.dtype, dtype, casting):  # type: ignore[arg-type]  # NumPy checks it
            raise TypeError(
                f"Cannot cast array data from {item.dtype!r} to {dtype!r} "
                f"according to the rule '{casting}'"
            )
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
    slowest_first = sorted_axes([item._layout for item in items], len(shape))
    result = empty(tuple(shape[number] for number in slowest_first), dtype, device=items[0].device)
    is_in_order = slowest_first == sorted(slowest_first)
    return result if is_in_order else transpose(result, np.argsort(slowest_first).tolist())


def sorted_axes(layouts: Sequence[Layout], ndim: int) -> list[int]:
    """Axes by |stride|, slowest first; arrays that disagree leave C order, and arrays of length 1
    along one of two axes have no say (PyArray_CreateMultiSortedStridePerm)."""
    order = [0] if ndim else []
    for axis in range(1, ndim):
        place = axis
        for position in range(axis - 1, -1, -1):
            other = order[position]
            moving = [
                own.strides for own in layouts if 1 not in (own.shape[axis], own.shape[other])
            ]
            if not moving:
                continue
            if not all(abs(own[axis]) > abs(own[other]) for own in moving):
                break
            place = position
        order.insert(place, axis)
    return order


def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Join along a new axis."""
    given = list(arrays)
    home = device_beside(given)
    items = [asarray(item, home) for item in given]
    if not items:
        raise ValueError("need at least one array to stack")
    if any(item.shape != items[0].shape for item in items):
        raise ValueError("all input arrays must have the same shape")
    place = normalize_axis(axis, items[0].ndim + 1)
    return concatenate(
        [expand_dims(item, place) for item in items], place, out, dtype=dtype, casting=casting
    )


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Views of consecutive parts: at the given indices, or in nearly equal sections."""
    ary = asarray(ary)
    axis = normalize_axis(axis, ary.ndim)
    extent = ary.shape[axis]
    if np.ndim(indices_or_sections):
        inner = [int(index) for index in indices_or_sections]
        spans = list(zip([0, *inner], [*inner, extent], strict=True))
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, longer = divmod(extent, sections)
        stops = [n * each + min(n, longer) for n in range(sections + 1)]
        spans = list(zip(stops[:-1], stops[1:], strict=True))
    return [ary[(slice(None),) * axis + (slice(*span),)] for span in spans]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """As `array_split`; sections must be equal. Raises: ValueError when they are not."""
    ary = asarray(ary)
    if not np.ndim(indices_or_sections) and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    return _split_along(ary, indices_or_sections, 0, 2, "vsplit")


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    return _split_along(ary, indices_or_sections, 0 if asarray(ary).ndim == 1 else 1, 1, "hsplit")


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    return _split_along(ary, indices_or_sections, 2, 3, "dsplit")


def _split_along(ary: Any, sections: Any, axis: int, ndim: int, name: str) -> list[Any]:
    if asarray(ary).ndim < ndim:
        raise ValueError(f"{name} only works on arrays of {ndim} or more dimensions")
    return split(ary, sections, axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Views of the slices along an axis."""
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    place = normalize_axis(axis, x.ndim)
    return tuple(x[(slice(None),) * place + (number,)] for number in range(x.shape[place]))


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return concatenate([atleast_2d(item) for item in tup], 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    items = [atleast_1d(item) for item in tup]
    axis = 0 if items and items[0].ndim == 1 else 1
    return concatenate(items, axis, dtype=dtype, casting=casting)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Shift elements along axes; those that leave at the end come in at the start. A new array, in
    the memory order of `a` (K). Without `axis` the elements are shifted in C order.

    Raises: ValueError for shifts and axes that do not broadcast to one axis, AxisError.
    """
    try:
        array = asarray(a)
    except ForeignError:
        return fallback.call(np.roll, a, shift, axis)
    if array._host is not None:
        return to_array(np.roll(array._host, shift, axis), owned=True)
    if axis is None and array.ndim != 1:
        return roll(ravel(array), shift, 0).reshape(array.shape)
    return rolled(array, _shifts(shift, 0 if axis is None else axis, array.ndim))


def _shifts(shift: Any, axis: Any, ndim: int) -> tuple[int, ...]:
    """By how much each axis is rolled."""
    if type(shift) is int and type(axis) is int and -ndim <= axis < ndim:
        rolled = axis % ndim
        return tuple([shift if place == rolled else 0 for place in range(ndim)])
    axes = normalize_axis_tuple(axis, ndim, allow_duplicate=True)
    pairs = np.broadcast(np.asarray(shift), np.asarray(axes))
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    found = [0] * ndim
    for by, place in pairs:
        found[place] += call_as_user(int, by)
    return tuple(found)
