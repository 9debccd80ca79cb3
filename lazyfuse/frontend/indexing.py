"""Indexing: basic indices make views and region writes; everything else goes through NumPy.

Basic: integers, slices, Ellipsis, newaxis. A boolean mask of the array's shape that is assigned a
scalar is recorded as well (a `where`).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.convert import ForeignError, operand, scalar
from lazyfuse.frontend.handle import Handle, result, view
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Map, Node, View
from lazyfuse.ir.order import copy_strides
from lazyfuse.ops.shapes import broadcast
from lazyfuse.ops.table import OPS


def getitem(self: Any, key: Any) -> Any:
    """A view for basic indices, a copy for others. Raises IndexError as NumPy does."""
    layout = basic_layout(self._layout, key)
    if layout is None:
        return fallback.call_method(self, "__getitem__", key)
    if not layout.shape and Ellipsis not in (key if type(key) is tuple else (key,)):
        return _element(self, layout)
    return view(self, layout)


def _element(array: Any, layout: Layout) -> Any:
    """One element as a value of its own: later writes to the array do not change it."""
    node = View(array._storage.node, layout)
    return result(
        Map(OPS["astype"], (node.dtype,), node.dtype, (), (), (node,)), array._storage.device
    )


def setitem(self: Any, key: Any, value: Any) -> None:
    """Write a region: all views see it, results recorded before keep what they read.

    Raises: ValueError when the array is read-only or the shapes do not match,
    IndexError for a bad index.
    """
    self._check_writeable()
    layout = basic_layout(self._layout, key)
    if layout is not None:
        assign(view(self, layout), value)
        return
    if _is_scalar_mask(self, key, value):
        _assign_where(self, key, value)
        return
    copy = np.array(np.asarray(self))
    copy[fallback.lower(key)] = fallback.lower(value)
    assign(self, copy)


def assign(target: Any, value: Any) -> None:
    """target[...] = value, with NumPy's unsafe cast and broadcasting into the target's shape."""
    target._check_writeable()
    node = value_node(value, target._code, target.shape)
    if node.shape != target.shape:
        _check_fits(node.shape, target.shape)
    target._write(node)


def value_node(value: Any, dtype: str, shape: tuple[int, ...]) -> Node:
    """An assigned value as a node of the target's dtype,
    without extra leading axes of length 1."""
    try:
        given = operand(value)
    except ForeignError:
        given = operand(_converted(value, dtype, shape))
    if given.node is None:
        assert given.value is not None
        return _scalar_node(given, dtype)
    node = given.node
    while len(node.shape) > len(shape) and node.shape[0] == 1:
        node = operand(view_without_first(value)).node  # type: ignore[assignment]  # asserted below
        value = view_without_first(value)
        assert node is not None
    strides = copy_strides(node.shape, node.strides)
    return Map(OPS["astype"], (node.dtype,), dtype, node.shape, strides, (node,))


def _converted(value: Any, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """What NumPy makes of strings, objects and the like when they are assigned.
    Raises: ValueError, TypeError."""
    target = np.empty(shape, np.dtype(dtype))
    target[...] = value
    return target


def _scalar_node(given: Any, dtype: str) -> Node:
    """A scalar as the target's dtype, converted as NumPy converts what is assigned.

    Raises: OverflowError, ValueError (NaN into integers), TypeError (complex into real)."""
    plain = isinstance(given.type, str) or given.type in (int, bool) and dtype[0] in "iufc"
    if plain and given.type in (int, dtype):
        return scalar(given.value, dtype)
    cell = np.empty((), np.dtype(dtype))
    strong = isinstance(given.type, str) and given.type != "b1"
    cell[...] = np.asarray(given.value, np.dtype(given.type)) if strong else given.value
    return scalar(cell.item(), dtype)


def view_without_first(array: Any) -> Any:
    if isinstance(array, Handle):
        return array[0]  # type: ignore[index]  # every Handle is a LazyArray
    return np.asarray(array)[0]


def _check_fits(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    try:
        fits = broadcast([shape, target]) == target
    except ValueError:
        fits = False
    if not fits:
        shown = [
            ("(" + ",".join(map(str, s)) + ("," if len(s) == 1 else "") + ")")
            for s in (shape, target)
        ]
        raise ValueError(
            f"could not broadcast input array from shape {shown[0]} into shape {shown[1]}"
        )


def _is_scalar_mask(array: Any, key: Any, value: Any) -> bool:
    mask = isinstance(key, Handle) and key._code == "b1" and key.shape == array.shape  # type: ignore[attr-defined]  # every Handle is a LazyArray
    return mask and array.ndim > 0 and type(value) in (bool, int, float, complex)


def _assign_where(array: Any, mask: Any, value: Any) -> None:
    dtype = array._code
    old = array._read()
    new = _scalar_node(operand(value), dtype)
    operands = (mask._read(), new, old)
    strides = copy_strides(old.shape, old.strides)
    array._write(Map(OPS["where"], ("b1", dtype, dtype), dtype, array.shape, strides, operands))


def basic_layout(layout: Layout, key: Any) -> Layout | None:
    """The layout of a basic index; None when the index is advanced.
    Raises IndexError as NumPy does."""
    keys = key if type(key) is tuple else (key,)
    if not all(_is_basic(item) for item in keys):
        return None
    consumed = sum(item is not None and item is not Ellipsis for item in keys)
    ndim = len(layout.shape)
    if sum(item is Ellipsis for item in keys) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if consumed > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {consumed} were indexed"
        )
    if Ellipsis not in keys:
        keys = (*keys, Ellipsis)
    shape: list[int] = []
    strides: list[int] = []
    offset = layout.offset
    axis = 0
    for item in keys:
        if item is None:
            shape.append(1)
            strides.append(0)
        elif item is Ellipsis:
            stop = axis + ndim - consumed
            shape += layout.shape[axis:stop]
            strides += layout.strides[axis:stop]
            axis = stop
        elif isinstance(item, slice):
            start, _, step = item.indices(layout.shape[axis])
            length = len(range(*item.indices(layout.shape[axis])))
            shape.append(length)
            strides.append(step * layout.strides[axis])
            offset += start * layout.strides[axis] if length else 0
            axis += 1
        else:
            offset += _integer(item, axis, layout.shape[axis]) * layout.strides[axis]
            axis += 1
    return Layout(tuple(shape), tuple(strides), offset)


def _is_basic(item: Any) -> bool:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return True
    if isinstance(item, bool | np.bool_ | Handle | np.ndarray | list | tuple):
        return False
    return hasattr(item, "__index__")


def _integer(item: Any, axis: int, extent: int) -> int:
    index = operator.index(item)
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")
    return index % extent
