"""`a.flat`: the elements in C order, read and written by position."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any, SupportsIndex

import numpy as np

from lazyfuse.frontend import elementwise
from lazyfuse.frontend.convert import limits
from lazyfuse.frontend.export import to_array
from lazyfuse.frontend.fallback import lower
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.sequences import are_numbers
from lazyfuse.frontend.walking import Walk, itself, pieces
from lazyfuse.ir.witness import WITNESSES, keep
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.ops.shapes import Shape
from lazyfuse.runtime.caller import call_as_user


class FlatIterator(chain[Any]):
    """NumPy's flatiter: an iterator, and a one-dimensional face of an array of any shape.

    Aliasing: reading copies; writing goes into the array. Values that are written are repeated
    when there are fewer of them than positions.
    """

    __slots__ = ("_walk", "base")
    base: Any
    _walk: Any

    def __new__(cls, array: Any) -> Any:
        return flat_of(array)

    @property
    def index(self) -> int:
        """The position of the next element."""
        return int(self._walk[0].index) if self._walk else 0

    @property
    def coords(self) -> tuple[int, ...]:
        """The index of the next element."""
        if not 0 <= self.index < self.base.size:
            first = self.base.shape[:1] if self.index else (0,) * self.base.ndim
            return (*first, *(0 for _ in self.base.shape[len(first) :]))
        return tuple(int(n) for n in np.unravel_index(self.index, self.base.shape))

    def copy(self) -> Any:
        return self.base.flatten()

    def elements(self) -> Any:
        """What NumPy makes an array of: the array as one axis, a read-only copy of it where its
        elements do not lie in C order."""
        found = self.base.ravel()
        if not self.base.flags.c_contiguous:
            found.flags.writeable = False
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return to_array(self.base.ravel(), dtype, copy)

    def __len__(self) -> int:
        return int(self.base.size)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise TypeError("cannot pickle 'numpy.flatiter' object")

    def __getitem__(self, key: Any) -> Any:
        array = self.base
        host = array._host
        if type(key) in _INTEGERS:
            if host is not None:
                return host.flat[key]
            place = _place(array._layout.shape, key)
            if place is not None:
                return array[place]
        if type(key) is tuple and not key and NUMPY < (2, 4):
            return self.base
        is_plain = type(key) is slice or _is_mask(key, array)
        found = array.ravel()[key if is_plain else self._positions(key)]
        return found if found.base is None else found.copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        array = self.base
        if _is_set(array._host, key, value):
            return
        if array._writeable is not True or WITNESSES:
            array._check_writeable("underlying array")
        if type(key) is tuple and not key:  # before NumPy 2.4 its own ends the process
            raise IndexError("Assigning to a flat iterator with a 0-D index is not supported")
        if put_number(array, key, value):
            return
        if (type(key) in (int, slice) or _is_mask(key, array)) and array.flags.c_contiguous:
            line = array.reshape(-1)
            if line._layout.shape and self._is_one_each(line, key, value):
                line[key] = value
                return
        key, given = lower(key), lower(value)
        written = np.empty(array.shape, array.dtype)  # NumPy converts, repeats and refuses
        call_as_user(written.flat.__setitem__, key, given)
        if not np.size(given):  # NumPy writes nothing then
            return
        positions = np.ravel(self._positions(key))
        if positions.size and not array.shape:
            array[...] = written
        elif positions.size:
            array[np.unravel_index(positions, array.shape)] = written.ravel()[positions]

    def _is_one_each(self, line: Any, key: Any, value: Any) -> bool:
        """Whether a key of the array as one axis is in it, and a value has an element for each
        position, or is a number for all."""
        size = line.size
        if type(key) is int and not -size <= key < size:
            return False
        if _is_held(value, line._code):
            return True
        if type(key) not in (int, slice):
            return False
        shape = (len(range(*key.indices(size))),) if type(key) is slice else ()
        return isinstance(value, Handle) and _form(value) == (shape, line._code)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def _positions(self, key: Any) -> Any:
        """The positions that a key names, by NumPy's own rules. Raises: IndexError."""
        size, where = self.base.size, lower(key)
        if type(where) is bool and size:  # no range is needed to say which one
            return call_as_user(np.broadcast_to(np.int8(0), size).flat.__getitem__, where)
        if type(where) is list and are_numbers(where) or type(where) is np.ndarray:
            given = np.asarray(where)
            if given.dtype.kind in "iu" and given.size:  # to look at them, no range is needed
                call_as_user(np.broadcast_to(np.int8(0), size).flat.__getitem__, where)
                return given.astype(np.intp) % size
        return call_as_user(np.arange(size).flat.__getitem__, where)

    def _compared(self, name: str, other: Any) -> Any:
        return elementwise.apply(name, (self.base.ravel(), other))

    def __eq__(self, other: object) -> Any:
        return self._compared("equal", other)

    def __ne__(self, other: object) -> Any:
        return self._compared("not_equal", other)

    def __lt__(self, other: Any) -> Any:
        return self._compared("less", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._compared("greater", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared("greater_equal", other)

    __hash__ = None  # type: ignore[assignment]  # as NumPy's: == is elementwise


_INTEGERS = frozenset((int, np.int64, np.int32))


def _is_mask(key: Any, array: Any) -> bool:
    """Whether a key is a condition for each element of an array as one axis."""
    if type(key) is np.ndarray:
        return bool(key.dtype == bool and key.shape == (array.size,))
    return isinstance(key, Handle) and _form(key) == ((array.size,), "b1")


#: The axes that NumPy's flatiter takes.
_AXES = 32
_over = FlatIterator.from_iterable


def flat_of(array: Any) -> Any:
    """The iterator of an array. Most are made to read or write one element, so nothing is looked
    at before elements are asked for. Raises: RuntimeError."""
    host = array._host
    if host is not None:
        walk = host.flat
        made: Any = _over((walk,))
        made.base, made._walk = array, [walk]
        return made
    axes = len(array._layout.shape)
    if axes > _AXES:
        raise RuntimeError(
            f"this function only supports up to {_AXES} dimensions but the array has {axes}."
        )
    begun: list[Walk] = []
    made = _over(map(_pieces, ((array, begun),)))
    made.base, made._walk = array, begun
    return made


def _pieces(asked: tuple[Any, list[Walk]]) -> Iterator[Any]:
    """The elements of an array of the engine; the list gets the walk through them."""
    array, begun = asked
    walk = Walk()
    begun.append(walk)
    return chain.from_iterable(pieces(itself(array), walk))


def _is_set(host: Any, key: Any, value: Any) -> bool:
    """Whether a number has been written into a small array, which holds it as it is."""
    if host is None or type(key) is not int or (type(value), host.dtype.char) not in _AS_IT_IS:
        return False
    if WITNESSES:
        keep(host)
    host.flat[key] = value
    return True


def put_number(array: Any, key: Any, value: Any) -> bool:
    """Whether a number has been written at a position of an array in C order that may be written;
    NumPy looks at others."""
    if type(key) not in _INTEGERS:
        return False
    host = array._host
    code = array._storage.node.dtype if host is None and array._cast is None else array._code
    if (type(value), code) not in _ALWAYS_HELD and not _is_held(value, code):
        return False
    place = _place(array._layout.shape if host is None else host.shape, key)
    if place is None:
        return False
    if host is None:
        array[place] = value
        return True
    if WITNESSES:
        keep(host)
    host[place] = value
    return True


#: Types of numbers, and dtypes that hold all of these; the same by NumPy's letters.
_ALWAYS_HELD = frozenset(((float, "f8"), (bool, "b1"), (np.float64, "f8"), (np.bool, "b1")))
_AS_IT_IS = frozenset((kind, np.dtype(code).char) for kind, code in _ALWAYS_HELD)


def _is_held(value: Any, dtype: str) -> bool:
    """Whether a value is a number that a dtype takes as any element of it; NumPy's words for
    others are those of its iterator."""
    if type(value) in (np.bool, np.int64, np.float64):
        value = value.item()
    low, high = limits(dtype) or (0, 1)
    if type(value) is float:
        return dtype[0] == "f" and (value != value or low <= value <= high)
    return type(value) in (bool, int) and low <= value <= high


def _place(shape: Shape, key: Any) -> tuple[int, ...] | None:
    """The index of the element at a position in C order; None where it is none of the array's."""
    if type(key) is int and len(shape) == 2 and key >= 0 and shape[1]:
        place: tuple[int, int] = divmod(key, shape[1])
        return place if place[0] < shape[0] else None
    size = math.prod(shape)
    if not -size <= key < size:
        return None
    left, index = int(key) % size, []
    for extent in reversed(shape):
        left, within = divmod(left, extent)
        index.append(within)
    return tuple(index[::-1])


def _form(array: Any) -> tuple[tuple[int, ...], str]:
    return array.shape, array._code


def set_flat(self: Any, value: Any) -> None:
    """`a.flat = value`: all elements, the values repeated. Raises: AttributeError for a scalar."""
    if self._is_scalar:
        raise AttributeError("attribute 'flat' of 'numpy.generic' objects is not writable")
    FlatIterator(self)[...] = value
