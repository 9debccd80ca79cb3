"""Indexing: slices and integers make views and writes of regions, keys with arrays in them gathers
and scattering writes (`selection.py`). `x[mask] = scalar` is recorded as a `where`. What is at
hand and small is read and written at once: recording it would cost more than NumPy needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend import export, pieces, windows
from lazyfuse.frontend.array_likes import host_array
from lazyfuse.frontend.convert import (
    ForeignError,
    assigned_scalar,
    check_home,
    device_beside,
    is_subclass,
    operand,
    warn_of_cast,
)
from lazyfuse.frontend.duplicates import last_values
from lazyfuse.frontend.fallback import called, lower
from lazyfuse.frontend.handle import Handle, new, result, view
from lazyfuse.frontend.keys import basic_layout
from lazyfuse.frontend.masks import is_placed
from lazyfuse.frontend.memory import is_settled, mutate
from lazyfuse.frontend.picks import is_even
from lazyfuse.frontend.piecewise import is_touched, write_out
from lazyfuse.frontend.probes import is_probe
from lazyfuse.frontend.rerecord import count
from lazyfuse.frontend.selection import (
    Empty,
    Selection,
    in_written_order,
    refuse,
    select,
    values_in,
)
from lazyfuse.frontend.varying import Varying
from lazyfuse.ir.copies import is_copied
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Fill, Map, Node, Update, View
from lazyfuse.ir.order import copy_strides
from lazyfuse.ops.shapes import broadcast, size_of
from lazyfuse.ops.table import OPS
from lazyfuse.runtime import engine
from lazyfuse.runtime.budget import PIECES
from lazyfuse.runtime.caller import call_as_user

#: What machine code saves of a view or an element (`rerecord.count`).
_SAVED = 5


def getitem(self: Any, key: Any) -> Any:
    """A view for basic indices, a copy for others. Raises IndexError as NumPy does."""
    if self._host is not None:
        few = pieces.from_small(self._host, key)
        if few is not None:
            return few
        self = _in_engine(self)  # a small table that a large index reads
    layout = basic_layout(self._layout, key)
    if layout is None:
        few = pieces.picked(self, key)
        return _picked(self, key) if few is None else few
    count(_SAVED)
    if not layout.shape and (type(key) is int or not _has_ellipsis(key)):
        return _element(self, layout)
    return view(self, layout)


def _in_engine(array: Any) -> Any:
    """A copy of a small array in the memory of the engine; what repeats is written out."""
    node = array._read()
    if isinstance(node, View):
        strides = copy_strides(node.shape, node.strides)
        node = Map(OPS["astype"], (node.dtype,), node.dtype, node.shape, strides, (node,))
    return new(node, "cpu")


def _has_ellipsis(key: Any) -> bool:
    return any(item is Ellipsis for item in (key if type(key) is tuple else (key,)))


def _picked(array: Any, key: Any) -> Any:
    """A copy of what a key with arrays picks, not yet made."""
    is_whole = pieces.is_mask(array, key) and array._storage.device == "cpu"
    if is_whole and not is_even(*array._layout[:2]):
        array = array.copy()  # else each element's place would have to be computed, and listed
    found = select(array, key)
    if isinstance(found, Layout):  # 0-d arrays only: as integers, but a copy
        if not found.shape:
            return _element(array, found)
        node = view(array, found)._read()
        strides = copy_strides(found.shape, found.strides)
        copied = Map(OPS["astype"], (node.dtype,), node.dtype, found.shape, strides, (node,))
        return new(copied, array._storage.device)
    if isinstance(found, Empty):
        return new(nothing(found.shape, array._code), array._storage.device)
    return new(found.gather(), array._storage.device)


def nothing(shape: tuple[int, ...], dtype: str) -> Node:
    """The value of an array without elements."""
    return Fill(shape, dtype, (0,) * len(shape), (Const(0, dtype),))


def _element(array: Any, layout: Layout) -> Any:
    """One element as a value of its own: later writes to the array do not change it. It is NumPy's
    scalar where the array is computed in host memory, else pending."""
    current = array._storage.now()  # asked once: another thread may write meanwhile
    if isinstance(current, Fill) and windows.largest():
        write_out(array, 1)
        current = array._storage.now()
    is_now = current.buffer is None and (is_touched(current) or is_probe(current))
    if is_now and windows.largest():
        array._flush()
        current = array._storage.now()
    if current.buffer is not None and array._storage.device == "cpu":
        return export.element(current, array._reading, layout.offset)
    node = view(array, layout)._read()
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
        _assign_region(self, layout, key, value)
        return
    if _is_scalar_mask(self, key, value):
        assign_where(self, key, value)
        return
    _assign_picked(self, key, value)


def _assign_region(array: Any, layout: Layout, key: Any, value: Any) -> None:
    """array[key] = value for a key of slices and integers: at once where few elements of settled
    memory change, else recorded."""
    is_element, size = not layout.shape and not _has_ellipsis(key), size_of(layout.shape)
    if size <= windows.AT_ONCE and is_settled(array) and _is_at_hand(value):
        _write(array, () if is_element else ..., value, layout)
        return
    if is_element and _has_axes(value):
        _write(array, (), value, layout)  # NumPy takes it for bools only
        return
    if PIECES * size <= size_of(array._layout.shape) and windows.largest():
        write_out(array, size)
    assign(view(array, layout), value)


def _assign_picked(array: Any, key: Any, value: Any) -> None:
    """array[key] = value for a key with arrays: at once where NumPy can do it in place, else
    recorded as a scattering write."""
    if _is_lent(array) and isinstance(value, Handle):
        value._flush()
    if is_settled(array) and _is_at_hand(value):
        _write(array, key, value)
        return
    try:
        found = select(array, key)
    except IndexError:  # NumPy looks at the shape of the value before the bounds
        refuse(array, key, value)
    if isinstance(found, Layout):
        if not found.shape and _has_axes(value) and not _has_ellipsis(key):
            _write(array, (), value, found)
            return
        assign(view(array, found), value)
    elif isinstance(found, Empty) or array._cast is not None:
        _write(array, key, value)
    else:
        _scatter(array, key, value, found)


def _write(array: Any, key: Any, value: Any, layout: Layout | None = None) -> None:
    """array[key] = value at once, by NumPy."""

    def put(values: np.ndarray) -> None:
        where, given = values_in(key), values_in(value)
        if not is_placed(values, where, given) and not is_copied(values, where, given):
            called(values.__setitem__, [where, given], {})

    mutate(array, put, layout)


def _is_lent(array: Any) -> bool:
    return array._host is None and array._storage.is_lent


def _has_axes(value: Any) -> bool:
    """Whether a value is a sequence, or an array that is not 0-d."""
    if isinstance(value, list | tuple):
        return True
    return isinstance(value, Handle | np.ndarray) and value.shape != ()  # type: ignore[union-attr]  # every Handle is a LazyArray


def _is_at_hand(value: Any) -> bool:
    """Whether nothing has to be computed for a value."""
    if not isinstance(value, Handle) or value._host is not None:
        return True
    return value._storage.node.buffer is not None


def _scatter(array: Any, key: Any, value: Any, found: Selection) -> None:
    check_home(device_beside((value,)), array.device)
    try:
        node = value_node(value, array, found.shape)
        _check_fits(node.shape, found.shape)
        if np.ndim(value) > 1 and _is_one_mask_of(array, key):
            raise ValueError("more than one axis")
    except ValueError:
        refuse(array, key, value)
    _warn_of_value(node)
    layout, node, index = in_written_order(found, node)
    if not found.unique:
        node, index = last_values(layout, node, index, array._storage.device)

    def update(base: Node) -> Node:
        return Update(base, layout, node, index, found.reach, unique=found.unique)

    if not engine.write(array._storage, update):  # another thread has lent the memory
        _write(array, key, value)


def assign(target: Any, value: Any) -> None:
    """target[...] = value, with NumPy's unsafe cast and broadcasting into the target's shape."""
    if isinstance(value, Handle) and value.is_same_memory(target):
        return  # as `x[1:3] += y` assigns last; NumPy looks only then whether it may write
    target._check_writeable()
    if type(value) in (list, tuple):
        if _has_own_parts(value, target):
            for place, part in enumerate(value):
                assign(target[place, ...], part)
            return
        value = _listed(value, target)
    node = value_node(_packed(value, target._code), target, target.shape)
    if node.shape != target.shape:
        _check_fits(node.shape, target.shape)
    _warn_of_value(node)
    target._write(node)


def fill(self: Any, value: Any) -> None:
    """Set all elements. Raises: what NumPy raises for values that have axes."""
    if isinstance(value, list | tuple) or np.ndim(value):
        self._check_writeable()
        cell = np.empty((), self.dtype)
        call_as_user(cell.fill, lower(value))
        value = cell[()]
    self[...] = value


def _has_own_parts(values: Any, target: Any) -> bool:
    """Whether parts of an array's own memory are among those that are assigned to its parts: NumPy
    assigns them one by one, so that later ones have what the first ones have written."""
    are_own = any(
        isinstance(each, Handle) and each._host is None and each._storage is target._storage
        for each in values
    )
    return are_own and (len(values), *target.shape[1:]) == target.shape and all(
        np.shape(each) == target.shape[1:] for each in values
    )  # fmt: skip


def _listed(value: Any, target: Any) -> np.ndarray:
    """A list as an array. Raises: ValueError for one that is deeper than the target has axes."""
    given = lower(value)
    made = host_array(given, target._code, copy=None)
    if made.ndim > len(target.shape):
        _converted(given, target._code, target.shape)
    return made


def _packed(value: Any, dtype: str) -> Any:
    """A scalar as one element. Into signed integers NumPy puts it by `int()`, which refuses NaN
    and what does not fit: whether it does has to be known now. Raises: ValueError, OverflowError.
    """
    if dtype[0] != "i" or not isinstance(value, np.generic):
        return value
    if value.dtype.kind not in "fcui" or np.can_cast(value.dtype, dtype):
        return value
    cell = np.empty((), np.dtype(dtype))
    call_as_user(cell.__setitem__, (), lower(value))
    return cell


def value_node(value: Any, target: Any, shape: tuple[int, ...]) -> Node:
    """A value that is assigned to elements of the target, in this shape, as a node of its dtype,
    without extra leading axes of length 1. Raises: what NumPy raises for an element of a list."""
    dtype, device = target._code, target.device
    if type(value) in (list, tuple):
        value = host_array(lower(value), dtype, copy=None)
    try:
        given = operand(value, device)
    except ForeignError:
        given = operand(_converted(value, dtype, shape), device)
    check_home(given.device, device)
    if given.node is None:
        return assigned_scalar(given, dtype)
    node = given.node
    extra = len(node.shape) - len(shape)
    if extra > 0 and set(node.shape[:extra]) == {1}:
        node = _without_axes(node, extra)
    strides = copy_strides(node.shape, node.strides)
    return Map(OPS["astype"], (node.dtype,), dtype, node.shape, strides, (node,))


def _warn_of_value(node: Node) -> None:
    """NumPy's warning when the complex values of a `value_node` become real ones: it is given when
    they fit where they are written."""
    if isinstance(node, Map):
        warn_of_cast(node.loop[0], node.dtype)


def _converted(value: Any, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """What NumPy makes of strings, objects and the like when they are assigned.
    Raises: ValueError, TypeError."""
    target = np.empty(shape, np.dtype(dtype))
    call_as_user(target.__setitem__, ..., value)
    return target


def _without_axes(node: Node, count: int) -> View:
    """A node without its first axes, which have length 1."""
    start = node.layout.offset if isinstance(node, View) else 0
    memory = node.srcs[0] if isinstance(node, View) else node
    return View(memory, Layout(node.shape[count:], node.strides[count:], start))


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
    is_number = type(value) in (bool, int, float, complex, Varying)
    is_scalar = is_number or isinstance(value, np.generic)
    return is_scalar and array.ndim > 0 and _is_mask_of(array, key)


def _is_mask_of(array: Any, key: Any) -> bool:
    """Whether a key is one mask of the shape of the array."""
    is_array = isinstance(key, Handle | np.ndarray) and not is_subclass(key)
    return is_array and key.dtype == bool and key.shape == array.shape


def _is_one_mask_of(array: Any, key: Any) -> bool:
    """Whether a key is, or has in it only, one mask of the shape of the array."""
    item = key[0] if type(key) is tuple and len(key) == 1 else key
    return _is_mask_of(array, np.asarray(item) if type(item) is list else item)


def assign_where(array: Any, mask: Any, value: Any) -> None:
    """array[mask] = value for a mask of the array's shape and one value: recorded as a `where`."""
    array._check_writeable()
    dtype, old = array._code, array._read()
    condition = operand(mask, array.device)
    check_home(condition.device, array.device)
    chosen = condition.node
    assert chosen is not None
    written = value_node(value, array, ())
    _warn_of_value(written)
    operands = (chosen, written, old)
    strides = copy_strides(old.shape, old.strides)
    array._write(Map(OPS["where"], ("b1", dtype, dtype), dtype, array.shape, strides, operands))
