"""Some elements of a large array that is in memory, picked or written at once: to record that
would cost more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from lazyfuse.frontend.convert import to_array
from lazyfuse.frontend.handle import small_array
from lazyfuse.frontend.keyed import UNKNOWN, can_pick, for_numpy, has_arrays, part_of
from lazyfuse.frontend.keys import basic_layout
from lazyfuse.frontend.masks import fill, filtered, place
from lazyfuse.frontend.memory import (
    change,
    give_zeros,
    in_place,
    is_filled,
    is_many_zeros,
    is_settled,
)
from lazyfuse.frontend.piecewise import compute, is_written_piecewise, write_out
from lazyfuse.frontend.rerecord import ARRAYS, count
from lazyfuse.frontend.sequences import SCALARS
from lazyfuse.frontend.small import lift
from lazyfuse.frontend.windows import AT_ONCE, at_hand, is_new, largest, reach, window
from lazyfuse.ir.copies import copy_to
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Fill, Node, Update
from lazyfuse.ops.rules import LOOKED_AT, PICKED, PICKED_ROWS, ROW
from lazyfuse.ops.shapes import size_of
from lazyfuse.ops.table import DTYPES
from lazyfuse.ops.types import code
from lazyfuse.runtime import engine, session, under_way
from lazyfuse.runtime.caller import call_as_user
from lazyfuse.runtime.error_modes import current_modes
from lazyfuse.runtime.shared import is_free

#: What machine code saves of a write (`rerecord.count`).
_SAVED = 10
#: Numbers that every dtype takes without a warning that is not one of arithmetic.
_SIMPLE = SCALARS - {complex, np.complex64, np.complex128}


def picked(array: Any, key: Any) -> Any:
    """A copy of the elements that a key with arrays of integers picks, or one with masks of a
    small array; None where the engine is to be asked."""
    limit = largest()
    if not limit:
        return None
    if type(key) in ARRAYS and key._host is None and key._code == "b1":
        return _filtered(array, key, limit)
    if array._storage.node.buffer is None and not is_filled(array):
        return None
    shape = array._layout.shape
    most = max(limit, PICKED_ROWS if _picks_rows(key, array) else PICKED)
    found = for_numpy(key, shape, most)
    if found is None:
        return None
    size = found.size
    if size > found.most(most) and not is_new(size):
        return None
    write_out(array, int(size))
    memory = window(array, max(most, size_of(shape)))
    if memory is None:
        return None
    count(_SAVED)
    return lift(memory[found.where])


def _picks_rows(key: Any, array: Any) -> bool:
    """Whether a key with an array picks long rows."""
    return type(key) is not tuple and size_of(array._layout.shape[1:]) >= ROW


def from_small(host: np.ndarray, key: Any) -> Any:
    """What an array of the engine picks from NumPy's array of a small one, where that is small,
    too: how much it is, or whether it is inside, has to be known at once anyway. None for other
    keys."""
    limit = largest()
    if not limit or type(key) not in ARRAYS or key._host is not None or not can_pick(key):
        return None
    shape = key._layout.shape
    if key._code == "b1":
        is_small = 0 < len(shape) and shape == host.shape[: len(shape)]
    else:
        is_small = 0 < len(shape) and size_of(shape) * size_of(host.shape[1:]) <= limit
    if not is_small or not host.ndim:
        return None
    key._flush()
    where = window(key, max(size_of(shape), 1))
    return None if where is None else small_array(call_as_user(host.__getitem__, where))


def _filtered(array: Any, mask: Any, limit: int) -> Any:
    """The elements where a mask of the engine is true, where these are few: how many has to be
    known at once anyway."""
    if mask._layout.shape != array._layout.shape:
        return None
    compute_mask(array, mask)
    whole = size_of(array._layout.shape)
    memory = window(array, whole)
    values = None if memory is None else window(mask, whole)
    if values is None:
        return None
    picked = None
    if whole > max(limit, _MOST_FILTERED):
        picked = int(np.count_nonzero(values))
        if picked > max(limit, _MOST_FILTERED) and not is_new(picked):
            return None
    return to_array(filtered(memory, values, picked), owned=True)


def compute_mask(array: Any, mask: Any) -> None:
    """Have a mask of the engine computed by which elements of an array of its shape are picked,
    and the array: with the mask where the mask is computed from it, and by itself where it is not
    large. Nothing happens while something is recorded."""
    device, whole = array._storage.device, size_of(array._layout.shape)
    is_other = mask._layout.shape != array._layout.shape or mask._storage.device != device
    if is_other or not largest():
        return
    node, asked, is_small = array._storage.node, mask._storage.node, whole <= _MOST_FILTERED
    if asked.buffer is None:
        engine.flush([asked, *_stored_with(asked, node, all_of_them=is_small)], device)
    if array._storage.node.buffer is None and is_small and not is_filled(array):
        array._flush()


#: The most elements that a mask picks at once: to record more costs no more than to store them.
_MOST_FILTERED = 1 << 17


def taken(array: Any, indices: Any, axis: int, mode: Any) -> Any:
    """`np.take` of few elements of settled memory; None where the engine is to be asked. Raises:
    what it does."""
    limit, shape = largest(), array.shape
    if not limit or type(array) not in ARRAYS or array._host is not None:
        return None
    index = part_of(indices, limit) if type(indices) is list else at_hand(indices, limit)
    if index is None or index is UNKNOWN or np.result_type(index).kind not in "iu":
        return None
    each = size_of(shape) // max(shape[axis], 1)
    size = np.size(index) * each
    if size > max(limit, PICKED_ROWS if each >= ROW else 0) or not shape[axis]:
        return None
    write_out(array, size)
    memory = window(array, max(limit, size_of(shape)))
    if memory is None:
        return None
    count(_SAVED)
    return lift(call_as_user(np.take, memory, index, axis, mode=mode))


#: Pending operations under a mask that are looked at.
_MOST_LOOKED_AT = 100


def _stored_with(mask: Node, node: Node, *, all_of_them: bool) -> list[Node]:
    """The pending operations under a mask that are stored as well: that of an array that it picks
    from and, with `all_of_them`, those of its shape that the program still has, for a loop that
    goes on with what a mask leaves filters them all."""
    nodes, seen, found = [mask], {mask}, []
    for each in nodes:  # which grows
        for src in each.srcs:
            if src.buffer is not None or src in seen or len(nodes) >= _MOST_LOOKED_AT:
                continue
            seen.add(src)
            nodes.append(src)
            is_one = all_of_them and src.shape == mask.shape and src.is_held and not is_free(src)
            if src is node or is_one:
                found.append(src)
    return found


def assigned(array: Any, key: Any, value: Any) -> bool:
    """Whether array[key] = value is done: for a key of slices and integers, where few elements of
    settled memory change and the value is at hand; both are computed where a loop writes them.
    Raises: what NumPy does."""
    if array._host is not None or array._writeable is not True or current_modes().is_immediate:
        return False
    if has_arrays(key):
        if is_mask(array, key):
            is_array = type(value) in ARRAYS or type(value) is np.ndarray
            return (_are_placed if is_array else _are_chosen)(array, key, value)
        return _changed_at(np.ndarray.__setitem__, array, key, value)
    found = _target(array, key, value)
    if found is None:
        return False
    layout, given = found
    if given is None or not layout.shape and isinstance(given, np.ndarray | list | tuple):
        return False
    if not _settles(array):
        return False
    if type(value) in ARRAYS and value._host is None and value._storage is array._storage:
        if value._layout == layout and value._code == array._code:
            return True  # what `x[1:3] += y` assigns last
    count(_SAVED)
    return change(array, layout, copy_to, given)


def _target(array: Any, key: Any, value: Any) -> tuple[Layout, Any] | None:
    """Where the few elements lie that are to be written, and the value for NumPy; None where this
    cannot be at once."""
    is_pending = array._storage.node.buffer is None and not _is_unfilled(array)
    is_loop = is_pending and is_written_piecewise(array, 0) and not under_way.is_recording()
    given = None if is_pending else _given(array, value)
    if given is None and not is_loop:
        return None
    layout = basic_layout(array._layout, key)
    size = 0 if layout is None else size_of(layout.shape)
    if layout is None or not size or size > AT_ONCE and not is_new(size):
        return None
    if not is_loop:
        return layout, given
    if not is_written_piecewise(array, size_of(layout.shape)):
        return None
    compute(array, value)
    return layout, _given(array, value)


def applied(method: Callable[..., None], array: Any, key: Any, values: Sequence[Any]) -> bool:
    """Whether a method `at` of a ufunc of NumPy's is done for a key with small arrays of integers,
    or masks of some axes. Raises: what it does."""
    if array._host is not None or array._writeable is not True or current_modes().is_immediate:
        return False
    is_simple = len(values) == 1 and has_arrays(key) and not is_mask(array, key)
    return is_simple and _changed_at(method, array, key, values[0])


def _changed_at(function: Callable[..., None], array: Any, key: Any, value: Any) -> bool:
    """Whether a function of NumPy's has changed the elements that a key with small arrays of
    integers, or masks of some axes, picks."""
    limit = largest()
    if not limit or array._storage.device != "cpu":
        return False
    found = for_numpy(key, array._layout.shape, limit)
    if found is None:
        return False
    if _is_scattered(array._storage.node):
        compute(array, value)
    given = _given(array, value)
    if given is None and _picks_rows(key, array) and is_settled(array):
        given = _computed(array, value)
    size = found.size
    is_few = size <= AT_ONCE or is_settled(array)  # which the long way writes at once as well
    if given is None or not size or not is_few or not _settles(array):
        return False
    count(_SAVED)
    return change(array, array._layout, function, found.where, given)


def _are_chosen(array: Any, mask: Any, value: Any) -> bool:
    """Whether array[mask] = value is done for a number, and a mask of all of the array."""
    limit = largest()
    if type(value) not in _SIMPLE or not limit:
        return False
    where = at_hand(mask, reach((array, mask), limit))
    if not isinstance(where, np.ndarray) or not _settles(array):
        return False
    count(_SAVED)
    return change(array, array._layout, fill, where, value)


def _are_placed(array: Any, mask: Any, value: Any) -> bool:
    """Whether array[mask] = value is done for an array of its dtype, and a mask of all of it."""
    if not largest() or value.dtype != array._code or array._storage.device != "cpu":
        return False
    where = at_hand(mask, size_of(array._layout.shape))
    given = None if where is None else at_hand(value, value.size)
    if given is None or not _settles(array):
        return False
    count(_SAVED)
    with session.flush_lock:  # not by `change`, where the options are not the caller's
        if not is_settled(array):  # another thread was faster
            return False
        array._storage.change()
        place(in_place(array._storage.node, array._reading, array._layout), where, given)
    return True


def _is_scattered(node: Node) -> bool:
    """Whether what is pending is a write at positions: no kernel has more than one of them."""
    return node.buffer is None and type(node) is Update and len(node.srcs) > 2


def is_mask(array: Any, key: Any) -> bool:
    """Whether a key is one mask of all of an array."""
    is_array = type(key) is np.ndarray or type(key) in ARRAYS
    return is_array and key.dtype == bool and key.shape == array._layout.shape


#: Bytes of arrays that are filled when a part of them is written.
_FILLED_BYTES = 1 << 26


def _is_unfilled(array: Any) -> bool:
    """Whether an array is as `zeros`, `ones` or `full` made it, and not huge: to fill it now costs
    what to fill it later does."""
    node = array._storage.node
    if type(node) is not Fill or array._storage.device != "cpu":
        return False
    if node.nbytes > _FILLED_BYTES and not is_many_zeros(array):
        return False
    return bool(largest()) and all(type(src) is Const for src in node.srcs)


def _settles(array: Any) -> bool:
    """Whether memory is settled, after a new array has been filled."""
    give_zeros(array)
    if array._storage.node.buffer is None and array._storage.node.users == 0:
        array._flush()
    return is_settled(array)


def _given(array: Any, value: Any) -> Any:
    """A value that is assigned, for NumPy; None where it is not at hand, or where its conversion
    warns of more than conditions of arithmetic."""
    if type(value) in _SIMPLE:
        return value
    if type(value) in (list, tuple):
        return _listed(array, value) if len(value) <= largest() else None
    if type(value) not in ARRAYS and type(value) is not np.ndarray:
        return None
    given = at_hand(value, reach((value,), largest()))
    return given if given is not None and _is_kept(code(given.dtype), array._code) else None


def _is_kept(source: str, target: str) -> bool:
    """Whether numbers of a dtype are numbers of another but for conditions of arithmetic: nothing
    of them is left out."""
    are_known = {source, target} <= _NUMBERS
    return are_known and (source[0] != "c" or target[0] == "c")


_NUMBERS = frozenset(DTYPES)


def _listed(array: Any, values: Sequence[Any]) -> Any:
    """A list of numbers that is assigned, for NumPy; None for other lists. To look at all of a
    long one takes as long as NumPy takes to make an array of it, so that is done once, where the
    array is assigned as the list is."""
    if len(values) > LOOKED_AT:
        with suppress(ValueError, TypeError, OverflowError):  # which the engine raises again
            made = np.asarray(values)
            if made.ndim == 1 and (code(made.dtype), array._code) in _AS_LISTED:
                return made
    return values if _SIMPLE.issuperset(map(type, values)) else None


#: What NumPy makes of a list, and the dtypes that it is assigned to without another rounding.
_AS_LISTED = {("f8", "f8"), ("i8", "f8"), ("i8", "i8"), ("b1", "b1")}


def _computed(array: Any, value: Any) -> Any:
    """A value that is assigned, computed now if it is pending: rows are written by one thread in
    any case, and NumPy does that in less time than it takes to record it. None for no array."""
    if type(value) not in ARRAYS or value._host is not None or value._storage.device != "cpu":
        return None
    if not _is_kept(value._code, array._code):
        return None
    value._flush()
    return window(value, size_of(value._layout.shape))
