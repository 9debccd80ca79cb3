"""Sorting and searching: recorded library calls of NumPy.

The order of what is equal is NumPy's own, so NumPy sorts; what the keys are computed from and what
reads the result still fuses.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.at_once import Memory, computed
from lazyfuse.frontend.convert import ForeignError
from lazyfuse.frontend.handle import Handle, new, result
from lazyfuse.frontend.library import Call, device_of, node_of, opaque, outline, record
from lazyfuse.frontend.manipulation import asarray
from lazyfuse.frontend.memory import change, is_settled
from lazyfuse.frontend.views import flip
from lazyfuse.frontend.windows import largest
from lazyfuse.ir.node import Node
from lazyfuse.ir.order import c_strides
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.ops.types import code

_REASON = "sorting runs in NumPy"
_monotonicity: Any = importlib.import_module("numpy._core._multiarray_umath")._monotonicity
_INDEX = code(np.dtype(np.intp))


def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *,
         stable: Any = None, descending: Any = None) -> Any:  # fmt: skip
    """A sorted copy along an axis, or of the flattened array when `axis` is None; recorded.
    `descending` is the Array API's, and NumPy's from 2.5 on: NaN are last, and else first.
    Raises: AxisError, and ValueError for an unknown `kind`."""
    options = {"kind": kind, "order": order, "stable": stable}
    if _knows_descending(a):
        return _sorted(np.sort, a, axis, **options, descending=descending)
    found = _sorted(np.sort, a, axis, **options)
    return flip(found, -1 if axis is None else axis) if descending else found


def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *,
            stable: Any = None, descending: Any = None) -> Any:  # fmt: skip
    """The indices (intp) that sort an array along an axis; recorded. Equal elements keep their
    order when `stable`, also when `descending`. Raises: as `sort`."""
    options = {"kind": kind, "order": order, "stable": stable}
    if _knows_descending(a):
        return _sorted(np.argsort, a, axis, **options, descending=descending)
    if not descending:
        return _sorted(np.argsort, a, axis, **options)
    turned = _flat(asarray(a)) if axis is None else asarray(a)
    place = -1 if axis is None else axis
    found = _sorted(np.argsort, flip(turned, place), place, **options)
    return turned.shape[place] - 1 - flip(found, place)


def _knows_descending(a: Any) -> bool:
    """Whether NumPy sorts it the other way round; libraries of GPUs do not."""
    return NUMPY >= (2, 5) and not (isinstance(a, Handle) and device_of([a]) != "cpu")


def unique_values(x: Any, /) -> Any:
    """As NumPy's, and sorted: from 2.3 on it leaves the order open, and gives that of hashes, but
    what is written for the Array API often takes the first for the smallest."""
    return fallback.call(np.unique, x, equal_nan=False)


def sort_method(
    self: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
    **newer: Any,
) -> None:  # fmt: skip
    """Sort in place, at once where that is at hand; `newer` are keywords of newer versions of
    NumPy. Raises: as `sort`, and ValueError for a read-only array."""
    self._check_writeable("sort array")
    place = operator.index(axis)
    if newer:
        np.empty(0).sort(**newer)  # refuses what this version does not know
    if order is None and 0 not in self._layout.shape and largest() and is_settled(self):
        options = {"kind": kind, "stable": stable, **newer}
        if change(self, self._layout, partial(np.ndarray.sort, axis=place, **options)):
            return
    self[...] = sort(self, place, kind, order, stable=stable, **newer)


def argsort_method(
    self: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
    **newer: Any,
) -> Any:  # fmt: skip
    if newer:
        np.empty(0).argsort(**newer)
    return argsort(self, axis, kind, order, stable=stable, **newer)


def _sorted(function: Any, a: Any, axis: int | None, **options: Any) -> Any:
    given = {name: value for name, value in options.items() if value is not None}
    try:
        array = asarray(a)
        call = _along(function, axis, given)
        return record(call, (_flat(array) if axis is None else array,), reason=_REASON)
    except (ForeignError, TypeError):  # fields of records; what is no axis
        return fallback.call(function, a, axis, **given)


def _flat(array: Any) -> Any:
    return array.reshape(-1)


def _along(function: Any, axis: int | None, options: dict[str, Any]) -> Call:
    place = -1 if axis is None else operator.index(axis)
    return Call(function, options=(("axis", place), *sorted(options.items())))


def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """A copy in which element `kth` is where sorting would put it; recorded.
    Raises: ValueError when it is out of bounds."""
    return _partitioned(np.partition, np.sort, a, kth, axis, kind, order)


def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """The indices (intp) that partition an array; recorded. Raises: as `partition`."""
    return _partitioned(np.argpartition, np.argsort, a, kth, axis, kind, order)


def partition_method(
    self: Any, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
) -> None:
    """Partition in place. Raises: as `partition`, and ValueError for a read-only array."""
    self._check_writeable("partition array")
    self[...] = partition(self, kth, operator.index(axis), kind, order)


def argpartition_method(
    self: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    return argpartition(self, kth, axis, kind, order)


def _partitioned(
    function: Any, like: Any, a: Any, kth: Any, axis: int | None, kind: str, order: Any
) -> Any:
    """Record a partition; `like` is the sort whose result looks the same."""
    try:
        array = asarray(a)
    except ForeignError:
        return fallback.call(function, a, kth, axis, kind, order)
    array = _flat(array) if axis is None else array
    places = _places(kth, array.shape, -1 if axis is None else axis)
    if places is None or kind != "introselect" or order is not None:
        return fallback.call(function, a, kth, axis, kind, order)
    now = computed(function, (array,), _size, (), (("axis", axis), ("kth", places)))
    if now is not None:
        return now
    device = array._storage.device
    node = node_of(array, device)
    call = _along(function, axis, {})
    found = outline(_along(like, axis, {}), ((node.shape, node.dtype, node.strides),))
    call = Call(function, options=(*call.options, ("kth", places)))
    return new(opaque(call, (node,), found.shape, found.dtype, found.strides, _REASON), device)


def _size(memory: Sequence[Memory]) -> int:
    """Of a result that has the shape of the last operand."""
    return math.prod(memory[-1][0])


def _places(kth: Any, shape: tuple[int, ...], axis: Any) -> tuple[int, ...] | None:
    """`kth` as positions in range; None for what NumPy has to judge."""
    if (
        isinstance(kth, Handle)
        or not isinstance(axis, int)
        or not -len(shape) <= axis < len(shape)
    ):
        return None
    flat = np.asarray(kth)
    if flat.dtype.kind not in "iu" or flat.ndim > 1:
        return None
    places = tuple(int(place) for place in flat.reshape(-1))
    extent = shape[axis]
    return places if all(-extent <= place < extent for place in places) else None


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices that sort by several keys, the last one first; recorded for arrays of one
    shape. Raises: TypeError without keys."""
    try:
        items = [asarray(key) for key in keys]
        if not items or not items[0].ndim or any(x.shape != items[0].shape for x in items):
            return fallback.call(np.lexsort, keys, axis)
        call = Call(_lexsorted, options=(("axis", axis),), name="lexsort")
        return record(call, items, reason=_REASON)
    except ForeignError:
        return fallback.call(np.lexsort, keys, axis)


def _lexsorted(*keys: np.ndarray, axis: int) -> np.ndarray:
    return np.lexsort(keys, axis)


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Where values would go in a sorted array, as intp of the shape of `v`; recorded.
    Raises: ValueError when `a` has not one axis, or for an unknown `side`."""
    if sorter is None:
        now = computed(np.searchsorted, (a, v), _size, (), (("side", side),))
        if now is not None:
            return now
    try:
        device = device_of((a, v))
        nodes = (node_of(a, device), node_of(v, device))
    except ForeignError:
        return fallback.call(np.searchsorted, a, v, side, sorter)
    if sorter is not None or len(nodes[0].shape) != 1 or side not in ("left", "right"):
        return fallback.call(np.searchsorted, a, v, side, sorter)
    return _found(Call(np.searchsorted, options=(("side", side),)), nodes, v, device)


def searchsorted_method(self: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    return searchsorted(self, v, side, sorter)


def _found(call: Call, nodes: tuple[Node, Node], v: Any, device: str) -> Any:
    shape = nodes[1].shape
    node = opaque(call, nodes, shape, _INDEX, c_strides(shape), "searching runs in NumPy")
    return new(node, device) if shape else result(node, device)


def monotonicity(x: Any) -> int:
    """Whether values rise (1), fall (-1) or do neither (0), which `np.digitize` asks for; computed
    at once. Raises: TypeError for complex values."""
    found: int = _monotonicity(fallback.lower(x))
    return found


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """`multiarray.interp`: linear interpolation between the points (xp, fp), which `np.interp`
    asks for; recorded. Raises: ValueError when these differ in length or are none."""
    ends = (("left", left), ("right", right))
    now = computed(np.interp, (x, xp, fp), lambda memory: math.prod(memory[0][0]), (), ends)
    if now is not None:
        return now
    try:
        device = device_of((x, xp, fp))
        nodes = tuple(node_of(value, device) for value in (x, xp, fp))
    except ForeignError:
        return fallback.call(np.interp, x, xp, fp, left, right)
    points = nodes[1].shape
    are_real = all(end is None or isinstance(end, int | float) for _, end in ends)
    real = all(node.dtype[0] != "c" for node in nodes)
    if len(points) != 1 or points != nodes[2].shape or not points[0] or not (are_real and real):
        return fallback.call(np.interp, x, xp, fp, left, right)
    call = Call(np.interp, options=ends)
    shape = nodes[0].shape
    node = opaque(call, nodes, shape, "f8", c_strides(shape), "interpolation runs in NumPy")
    return new(node, device) if shape else result(node, device)
