"""What indices are made of, and what slices and integers pick."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.ir.layout import Layout


def is_basic(key: Any) -> bool:
    """Whether a key is made of integers, slices, ... and None: what it picks is a view, or an
    element."""
    kind = type(key)
    return kind in _BASIC or kind is tuple and _BASIC.issuperset(map(type, key))


_BASIC = frozenset((int, slice, type(None), type(Ellipsis)))


def as_tuple(key: Any) -> Any:
    """A key whose class is derived from tuple (a named one) as a tuple, which it is to NumPy."""
    return tuple(key) if isinstance(key, tuple) and type(key) is not tuple else key


def in_hand(key: Any) -> Any:
    """A key with integers in place of pending scalars: what makes a view in NumPy makes one."""
    if type(key) is tuple:
        return tuple(map(in_hand, key))
    is_integer = type(key) is Handle._scalar and key._code[0] in "iu"
    return operator.index(key) if is_integer else key


def basic_layout(layout: Layout, key: Any) -> Layout | None:  # noqa: C901  # a case per part
    """The layout of a basic index; None when the index is advanced.
    Raises IndexError as NumPy does."""
    if type(key) is int and len(layout.shape) == 1 and _is_within(key, layout.shape[0]):
        return Layout((), (), layout.offset + key % layout.shape[0] * layout.strides[0])
    keys = key if type(key) is tuple else (key,)
    if not all(_is_basic_item(item) for item in keys):
        return None
    consumed = sum(item is not None and item is not Ellipsis for item in keys)
    ndim = len(layout.shape)
    if consumed > ndim or sum(item is Ellipsis for item in keys) > 1:
        _refuse(layout.shape, key)
    if Ellipsis not in keys:
        keys = (*keys, Ellipsis)
    shape, strides = list[int](), list[int]()
    offset, axis = layout.offset, 0
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
            start, stop, step = item.indices(layout.shape[axis])
            shape.append(length := len(range(start, stop, step)))
            step = step if length and abs(step) < 1 << 31 else 1  # it decides memory orders
            strides.append(step * layout.strides[axis])
            offset += start * layout.strides[axis] if length else 0
            axis += 1
        else:
            index, extent = operator.index(item), layout.shape[axis]
            if not _is_within(index, extent):
                _refuse(layout.shape, key)
            offset += index % extent * layout.strides[axis]
            axis += 1
    if len(shape) > 64:
        _refuse(layout.shape, key)
    return Layout(tuple(shape), tuple(strides), offset)


def _is_basic_item(item: Any) -> bool:
    """Whether a part of a key keeps a view a view; a pending integer does, as NumPy's scalar."""
    if type(item) is Handle._scalar:
        return bool(item._code[0] in "iu")
    if isinstance(item, bool | np.bool_ | Handle | np.ndarray | list | tuple):
        return False
    if item is None or item is ... or isinstance(item, slice):
        return True
    return is_index(item)


def is_index(item: Any) -> bool:
    """Whether an object that is no array of ours is one integer; arrays of dask have an
    `__index__`, too."""
    return hasattr(item, "__index__") and not getattr(item, "ndim", 0)


def _is_within(index: int, extent: int) -> bool:
    return -extent <= index < extent


def _refuse(shape: tuple[int, ...], key: Any) -> None:
    """Raises: what NumPy does for a key of an array of this shape: IndexError, and OverflowError
    for integers of 64 bits without a sign."""
    np.broadcast_to(0, shape)[in_hand(key)]
