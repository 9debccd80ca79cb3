"""Small parts of computed memory of the engine, with which NumPy computes at once.

A row of a matrix that is in memory is as good as a small array (`small.py`): to record an
operation on it, to plan and launch it costs 40 us, NumPy needs 1. So where all operands are small
and at hand, NumPy is given those of the engine as arrays in the engine's own memory: windows. They
are read-only (but for functions of which NumPy would make copies), and nobody keeps one: only
functions that are known to read their operands, that call nobody back, and whose results are no
larger than a rule says (`ops/rules.py`) are given some, and where the result of one lies in a
window all the same, the engine is asked instead. What `fuse` records is left to the engine, and so
is what is pending. Of larger arrays there are windows where that is new to the user's function
(`novel.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from lazyfuse.frontend import small
from lazyfuse.frontend.convert import eager_size, source
from lazyfuse.frontend.handle import Handle, new, small_array
from lazyfuse.frontend.memory import change, operand, readable
from lazyfuse.frontend.novel import cold_size, is_novel
from lazyfuse.frontend.piecewise import compute, is_written_piecewise, write_out
from lazyfuse.frontend.rerecord import ARRAYS, count
from lazyfuse.frontend.sequences import SCALARS, are_numbers
from lazyfuse.frontend.small import KNOWN
from lazyfuse.ir.copies import copy_to
from lazyfuse.ir.node import Node
from lazyfuse.ir.witness import WITNESSES, keep
from lazyfuse.ops.rules import LOOKED_AT
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import under_way
from lazyfuse.runtime.heard import heard

Method = Callable[..., Any]

#: Elements up to which a write of what is at hand happens at once: recording one costs as much.
AT_ONCE = 1 << 16
#: What machine code saves of an operation here (`rerecord.count`).
SAVED = 15


def largest() -> int:
    """The largest size of an operand; 0 where nothing is to be computed at once."""
    return 0 if under_way.is_recording() else eager_size()


def is_new(size: float) -> bool:
    """Whether so many elements are computed, picked or written at once, for the user's function
    has not often done so."""
    return bool(largest()) and size <= cold_size() and is_novel(int(size), int(size))


def reach(values: Sequence[Any], limit: int) -> int:
    """The largest size of operands of an operation on these values, some of the engine: `limit`,
    that of small ones, or more where they are larger, at hand, and new to the user's function."""
    size, widest, is_typed = 0, 1, False
    for each in values:
        if type(each) in ARRAYS and each._host is None:
            node, layout, cast = each._storage.node, each._layout, each._cast
            code = node.dtype if cast is None else cast.dtype
            if node.buffer is None or code == "f2":
                return limit  # half precision is the kernels', for NumPy has no fast code for it
            form, bytes_ = node.form, int(code[1:])
            own = form.size if layout is form.layout else size_of(layout.shape)
            size = own if own > size else size
            widest = bytes_ if bytes_ > widest else widest
            # nothing fuses with what reads memory as another dtype
            is_typed = is_typed or cast is not None and node.dtype[0] != "c"
    if size <= limit or not limit:
        return limit
    most = cold_size()
    if size > most:
        return limit
    return most if is_typed or is_novel(size, size * widest >> 3) else limit


def window(
    array: Handle, limit: int, shown: Callable[[Handle, Node], np.ndarray] = readable
) -> Any:
    """The elements of an array of the engine, for NumPy to read; a scalar's value. None where they
    are pending, on another device, or more than `limit`. A part of zeros, ones or a range has them
    written; of no elements, nothing has to be known. `shown`: how memory is made an array."""
    storage, layout = array._storage, array._layout
    form = storage.node.form
    size = form.size if layout is form.layout else size_of(layout.shape)
    if size > limit:
        return None
    if not size:  # whose layout may lie outside its memory
        return _without_elements(array) if limit and storage.device == "cpu" else None
    if storage.node.buffer is None:
        write_out(array)
    if storage.node.buffer is None or storage.device != "cpu":
        return None
    node = storage.now()
    if node.buffer is None:  # another thread has written
        return None
    found = shown(array, node)
    return found[()] if array._is_scalar else found


def _without_elements(array: Handle) -> np.ndarray:
    values = np.empty(array._layout.shape, array._code)
    values.flags.writeable = False
    return values


def at_hand(value: Any, limit: int) -> Any:
    """An operand as NumPy's operators take it, which only read it; None for those that are
    pending, large or not known."""
    kind = type(value)
    if kind in ARRAYS:
        host = value._host
        return window(value, limit, operand) if host is None else host
    if kind in SCALARS:
        return value
    is_plain = kind is np.ndarray and value.size <= limit and value.dtype in KNOWN
    return value if is_plain else None


def operated(plain: Method, *values: Any) -> Any:
    """The result of a ufunc or an operator of NumPy's, whose bits are the kernels', on operands
    that are at hand; None where there is none of ours, and for others. Raises: what it does."""
    least = largest()
    limit = reach(values, least)
    operands: list[Any] = []
    is_ours, first = False, None
    for value in values:
        given = at_hand(value, limit)
        if given is None:
            return None
        operands.append(given)
        is_ours = is_ours or isinstance(value, Handle)
        if type(given) is np.ndarray:
            if first is not None and given.shape != first.shape and not _fits(first, given, limit):
                return None
            first = given
    if not is_ours:
        return None
    count(SAVED)
    return made(heard(plain, *operands), least)


def _fits(left: np.ndarray, right: np.ndarray, limit: int) -> bool:
    """Whether the broadcast of two operands is small as well, or no larger than `limit` where
    that is the size of one of them, or new to the user's function."""
    if small.fits(left, right):
        return True
    size = spread_size((left, right))
    return size <= limit or is_new(size)


def made(result: Any, least: int) -> Any:
    """A new result of NumPy's, which nobody else has, as the user's: small with at most so many
    elements."""
    if type(result) is not np.ndarray:
        return result
    if result.size <= least:
        return small_array(result)
    if least and result.base is None and result.dtype in KNOWN:  # `lift` in half the time
        return new(source(result, "cpu", owned=True), "cpu")
    return small.lift(result)


def changed(plain: Method, array: Any, other: Any) -> bool:
    """Whether an operator of NumPy's in place has changed an array of the engine, at once: where
    it is settled, or is now since a loop writes it. Raises: what it does."""
    limit = reach((array, other), largest())
    if size_of(array._layout.shape) <= limit:
        write_out(array)
    if not _is_ready(array, (other,), limit):
        return False
    theirs = at_hand(other, limit)
    if theirs is None or not small.hold([np.dtype(array._code)], [other]):
        return False
    count(SAVED)
    return change(array, array._layout, plain, theirs)


def settled(plain: Any, array: Any, other: Any) -> bool:
    """Whether a ufunc of NumPy's has changed a small array by a pending operand: what is written
    into that has to be computed now, and is by itself in half the time. Raises: what it does, and
    what is met on the way."""
    limit = largest()
    if array._host is None or type(other) not in ARRAYS or other._host is not None:
        return False
    if not 0 < size_of(other._layout.shape) <= limit or other._storage.device != "cpu":
        return False
    other._flush()
    theirs = at_hand(other, limit)
    if theirs is None:  # another thread has written
        return False
    heard(plain, array._host, theirs, array._host)
    return True


def _is_ready(array: Any, others: Sequence[Any], limit: int) -> bool:
    """Whether an array of the engine may be changed at once: a part of memory, of at most `limit`
    elements, that is computed, or is now with the others since a loop writes it."""
    size = size_of(array._layout.shape)
    if array._writeable is not True or not 0 < size <= limit:
        return False
    if array._storage.node.buffer is None:
        if not is_written_piecewise(array, size):
            return False
        compute(array, *others)
    return True


def altered(function: Callable[..., Any], array: Any, *others: Any) -> bool:
    """Whether a function of NumPy's has changed at once its first argument, a part of the engine's
    memory of at most `AT_ONCE` elements, or as many as are computed at once. The others are at
    hand, or numbers in lists, and are cast to its dtype without a word but of conditions. Raises:
    what it does."""
    if type(array) not in ARRAYS or array._host is not None or not largest():
        return False
    limit = max(reach((array, *others), largest()), AT_ONCE)
    if not _is_ready(array, others, limit):
        return False
    given = [each if _is_short(each) else at_hand(each, limit) for each in others]
    if any(each is None for each in given) or not _are_held(array._code, given):
        return False
    count(SAVED)
    return change(array, array._layout, function, *given)


def _are_held(code: str, given: Sequence[Any]) -> bool:
    """Whether nothing of given values is left out where they are cast to a dtype, and floats of it
    hold the Python numbers among them."""
    numbers = [item for each in given if type(each) in (list, tuple) for item in each]
    values = [*given, *numbers]
    is_real = code[0] != "c" and any(map(np.iscomplexobj, values))
    return not is_real and small.hold([np.dtype(code)], values)


def _is_short(value: Any) -> bool:
    """Whether something is a short list of numbers, all of which are looked at."""
    is_list = type(value) in (list, tuple) and len(value) <= LOOKED_AT
    return is_list and are_numbers(value)


def delivered(plain: np.ufunc, inputs: Sequence[Any], out: Any) -> bool:
    """Whether a ufunc of NumPy's has written its result for operands at hand into an array, of
    NumPy's as well. Raises: what it does."""
    limit, is_numpys = largest(), type(out) is np.ndarray
    if not limit or not is_numpys and type(out) not in ARRAYS:
        return False
    limit = reach((*inputs, out), limit)
    host = at_hand(out, limit) if is_numpys else out._host
    if host is None and (is_numpys or not _is_ready(out, inputs, limit)):
        return False
    operands = [at_hand(value, limit) for value in inputs]
    if any(operand is None for operand in operands):
        return False
    count(SAVED)
    if host is not None:
        if WITNESSES:
            keep(host)
        heard(plain, *operands, out=host)
        return True
    theirs = [each.dtype for each in operands if isinstance(each, np.ndarray | np.generic)]
    if not small.hold(theirs, inputs):
        return False
    return change(out, out._layout, lambda target: plain(*operands, out=target))


def put(result: Any, out: Any) -> bool:
    """Whether an array that is at hand has been written into one of its shape and dtype, at
    once."""
    size = size_of(result.shape)
    values = at_hand(result, size)
    if values is None or type(out) not in ARRAYS:
        return False
    if (out.shape, out.dtype) != (values.shape, values.dtype):
        return False
    host = out._host
    if host is None:
        is_ready = _is_ready(out, (), max(largest(), size))
        return is_ready and change(out, out._layout, copy_to, values)
    if WITNESSES:
        keep(host)
    if host.flags.writeable:
        host[...] = values
    return bool(host.flags.writeable)


def spread_size(given: Sequence[Any]) -> int:
    """How many elements arrays have when they are broadcast, whether that can be or not."""
    shapes = [each.shape[::-1] for each in given if isinstance(each, np.ndarray)]
    return math.prod(map(max, zip_longest(*shapes, fillvalue=1)))
