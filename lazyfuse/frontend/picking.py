"""Functions that pick by integers and masks: take, compress, choose, nonzero, put, place, putmask.

Those that read are recorded: only what has to be known at the call is computed, the bounds of
integers and the number of true elements. Those that write single elements do so at once, where
they lie when nobody else needs the old values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from lazyfuse.frontend import (
    elementwise,
    fallback,
    indexing,
    methods,
    picks,
    pieces,
    selection,
    windows,
)
from lazyfuse.frontend.convert import ForeignError, device_beside
from lazyfuse.frontend.flat import put_number
from lazyfuse.frontend.handle import Handle, new, new_scalar, view
from lazyfuse.frontend.library import Call
from lazyfuse.frontend.manipulation import asarray, ravel
from lazyfuse.frontend.masks import listed
from lazyfuse.frontend.memory import look, mutate
from lazyfuse.frontend.selection import Empty, values_in
from lazyfuse.frontend.small import lift
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Map, Opaque
from lazyfuse.ir.order import c_strides
from lazyfuse.ops.rules import MOST
from lazyfuse.ops.shapes import size_of
from lazyfuse.ops.table import OPS
from lazyfuse.runtime.caller import call_as_user

_MODES = ("raise", "wrap", "clip")


# ---- reading


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """The elements at `indices` along an axis (of the array as one axis when None).

    Shapes: those of the indices stand where the axis stood. Aliasing: a copy, in C order.
    Raises: IndexError; with mode "wrap" or "clip" only for an empty axis.
    """
    try:
        array = asarray(a)
        index = asarray(indices, array.device)
        if out is not None or mode not in _MODES or not np.can_cast(index.dtype, np.intp):
            raise ForeignError("take")
    except ForeignError:
        return fallback.call(np.take, a, indices, axis, out=out, mode=mode)
    if isinstance(axis, bool):
        raise TypeError("an integer is required for the axis")
    if axis is None or not array.ndim:
        array, axis = ravel(array), axis or 0
    if not -array.ndim <= axis < array.ndim:
        raise AxisError(axis, array.ndim)
    found = pieces.taken(array, indices, axis, mode)
    if found is not None:
        return found
    extent = array.shape[axis]
    shape = (*array.shape[:axis], *index.shape, *array.shape[axis % array.ndim + 1 :])
    if not extent and 0 not in shape:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if 0 in shape:
        if mode == "raise" and index.size:
            call_as_user(np.take, np.empty(array.shape, "?"), fallback.lower(index), axis)
        return new(indexing.nothing(shape, array._code), array._storage.device)
    return _taken(array, _as_index(index, extent, mode), axis % array.ndim)


def _as_index(index: Any, extent: int, mode: str) -> Any:
    """Integers that index an axis of this extent; other modes bring them into it."""
    if index._code == "b1":
        index = methods.converted(index, "i8")
    if mode == "raise" or not index.size:
        return index
    if index._code == "u8":
        index = methods.converted(index, "i8")
    if mode == "wrap":
        return elementwise.apply("remainder", (index, np.int64(extent)))
    return elementwise.apply("clip", (index, np.int64(0), np.int64(extent - 1)))


def _taken(array: Any, index: Any, axis: int) -> Any:
    key = (slice(None),) * axis + (index,)
    found = selection.select(array, key)
    device = array._storage.device
    if isinstance(found, Layout):  # one position
        node = view(array, found)._read()
        strides = c_strides(found.shape)
        copy = Map(OPS["astype"], (node.dtype,), node.dtype, found.shape, strides, (node,))
        return new(copy, device) if found.shape else new_scalar(copy, device)
    assert not isinstance(found, Empty)
    return new(replace(found, strides=c_strides(found.shape)).gather(), device)


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The slices along an axis where the 1-d condition holds; a shorter one stands for false
    behind its end. Raises: ValueError, IndexError."""
    try:
        mask = asarray(condition, device_beside((a,)))
    except ForeignError:
        return fallback.call(np.compress, condition, a, axis, out=out)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None and out is None and isinstance(a, Handle):
        found = extract(mask, a)
        if found is not None:
            return found
    return take(a, nonzero(mask)[0], axis, out)


def extract(condition: Any, arr: Any) -> Any:
    """`np.extract` of arrays of one shape: what a mask picks; None for others."""
    if not isinstance(condition, Handle) or not isinstance(arr, Handle):
        return None
    is_mask = condition._code == "b1" and condition._layout.shape == arr._layout.shape != ()
    return arr[condition] if is_mask else None  # type: ignore[index]  # every Handle is a LazyArray


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Element by element, the choice whose number `a` says. Raises: ValueError for a number that
    is none, in mode "raise"."""
    try:
        number = asarray(a)
        given = [asarray(choice, number.device) for choice in choices]
        arrays = all(isinstance(choice, Handle | np.ndarray) for choice in choices)
        arrays = arrays and getattr(choices, "dtype", None) != "O"  # of which objects are chosen
        plain = out is None and mode in _MODES and np.can_cast(number.dtype, np.intp)
        if not plain or not arrays or not 0 < len(given) <= 32:
            raise ForeignError("choose")
    except (ForeignError, TypeError):
        return fallback.call(np.choose, a, choices, out=out, mode=mode)
    if mode == "raise" and number.size and not _within(number, len(given)):
        raise ValueError("invalid entry in choice array")
    number = _as_index(number, len(given), mode)
    dtype = np.result_type(*(choice.dtype for choice in given))
    result = methods.converted(given[0], dtype.str[1:])
    for position, choice in enumerate(given[1:], 1):
        is_chosen = elementwise.apply("equal", (number, position))
        result = elementwise.apply("where", (is_chosen, choice, result))
    shape = np.broadcast_shapes(number.shape, result.shape)
    return _c_ordered(result, shape)


def _within(number: Any, count: int) -> bool:
    if number._code == "b1":
        return count > 1 or not look(number, np.any)
    return bool(look(number, lambda values: values.min() >= 0 and values.max() < count))


def _c_ordered(array: Any, shape: tuple[int, ...]) -> Any:
    """A new array of this shape in C order; a scalar where that has no axes."""
    node = array._read()
    copy = Map(OPS["astype"], (node.dtype,), node.dtype, shape, c_strides(shape), (node,))
    return (new if shape else new_scalar)(copy, array._storage.device)


def nonzero(a: Any) -> tuple[Any, ...]:
    """The positions of the elements that are not 0, in C order, one array per axis."""
    try:
        array = asarray(a)
    except ForeignError:
        return tuple(fallback.call(np.nonzero, a))
    if not array.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead. If the context of this error is of the form `arr[nonzero(cond)]`, just use "
            "`arr[cond]`."
        )
    is_mask = array._code == "b1"
    mask = picks.steady(array) if is_mask else elementwise.apply("not_equal", (array, 0))
    device = array._storage.device
    if device == "cpu" and _are_few(mask):
        found: tuple[Any, ...] = lift(look(mask, _listed if array.ndim == 1 else np.nonzero))
        return found
    count = picks.count_true(mask)
    if array.ndim == 1:
        node = picks.positions(mask)
        places = Map(OPS["astype"], (node.dtype,), "i8", (count,), c_strides((count,)), (node,))
        return (new(places, device),)
    shape = (count, array.ndim)
    table = Opaque(
        "argwhere", Call(np.argwhere), "the true elements of a mask are listed once",
        shape=shape, dtype="i8", strides=c_strides(shape), srcs=(mask._read(),),
    )  # fmt: skip
    owner, step = new(table, device), array.ndim
    return tuple(view(owner, Layout((count,), (step,), axis)) for axis in range(array.ndim))


def flatnonzero(a: Any) -> Any:
    """`np.flatnonzero` of an array of one axis; None for others."""
    is_row = type(a) is Handle._concrete and a._host is None and len(a._layout.shape) == 1
    return nonzero(a)[0] if is_row else None


def _are_few(mask: Any) -> bool:
    """Whether the positions of what is true are so few that they are listed at once."""
    most, shape = windows.largest() and MOST, mask._layout.shape
    return size_of(shape) * len(shape) < most or picks.count_true(mask) * len(shape) < most


def _listed(mask: np.ndarray) -> tuple[np.ndarray]:
    """np.nonzero(mask) of one axis."""
    return (listed(mask, "i8"),)


# ---- writing


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """a.flat[ind] = v, where v is repeated as often as needed. Raises: IndexError, TypeError."""
    if mode == "raise" and isinstance(a, Handle):
        if not a._is_scalar and a._writeable is True and put_number(a, ind, v):
            return
        if windows.altered(np.ndarray.put, a, ind, v):
            return
    _change("put", a, ind, v, mode)


def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Where the mask holds, the element at that place of `values`, repeated to the size of `a`."""
    if windows.altered(np.putmask, a, mask, values):
        return
    if isinstance(a, Handle) and isinstance(mask, Handle) and _is_plain(a, mask, values):
        a._check_writeable("putmask: output array")
        condition = mask if mask._code == "b1" else elementwise.apply("not_equal", (mask, 0))
        indexing.assign_where(a, condition, values)
        return
    _change("putmask", a, mask, values)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """The first N values where the mask holds, N times; see `np.place`."""
    if not isinstance(arr, np.ndarray | Handle):
        raise TypeError(f"argument 1 must be numpy.ndarray, not {type(arr).__name__}")
    if not windows.altered(np.place, arr, mask, vals):
        _change("place", arr, mask, vals)


def _is_plain(array: Any, mask: Any, value: Any) -> bool:
    """Whether one number is put where a mask of the array's shape holds."""
    is_number = type(value) in (bool, int, float) and array._code[0] in "fc"
    return is_number and array.ndim > 0 and mask.shape == array.shape


def _change(name: str, array: Any, *rest: Any) -> None:
    """NumPy's function on the elements of an array, as `mutate` gives them."""
    function = getattr(np, name)
    if not isinstance(array, Handle) or array._is_scalar:
        function(*fallback.lower((array, *rest)))
        return
    if name != "place":
        array._check_writeable(f"{name}: output array")
    if name == "put":
        function = np.ndarray.put  # which asks no other library
    mutate(array, lambda values: fallback.called(function, [values, *values_in(rest)], {}))


def at(ufunc: np.ufunc, array: Any, indices: Any, *values: Any) -> None:
    """`ufunc.at`: the op on the elements that the indices pick, again for each time one is picked.

    Raises: IndexError, TypeError, ValueError for a read-only array.
    """
    if not isinstance(array, Handle):
        ufunc.at(array, fallback.lower(indices), *fallback.lower(values))
        return
    if not pieces.applied(ufunc.at, array, indices, values):
        mutate(array, lambda own: call_as_user(ufunc.at, own, *values_in((indices, *values))))


# ---- methods of LazyArray


def take_method(
    self: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise"
) -> Any:
    return take(self, indices, axis, out, mode)


def compress_method(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return compress(condition, self, axis, out)


def choose_method(self: Any, *choices: Any, out: Any = None, mode: str = "raise") -> Any:
    return choose(self, choices[0] if len(choices) == 1 else choices, out, mode)


def nonzero_method(self: Any) -> tuple[Any, ...]:
    return nonzero(self)


def put_method(self: Any, indices: Any, values: Any, mode: str = "raise") -> None:
    put(self, indices, values, mode)
