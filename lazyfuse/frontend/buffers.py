"""Arrays in memory from outside: of buffers, as NumPy's `frombuffer` and `ndarray(buffer=)`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.convert import ForeignError, eager_size, to_array
from lazyfuse.frontend.creation import empty
from lazyfuse.frontend.export import around, as_numpys
from lazyfuse.frontend.handle import SEALED, Handle, small_array
from lazyfuse.frontend.mapped import is_frozen
from lazyfuse.frontend.methods import order_letter
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import call_as_user


def ndarray(shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0,
            strides: Any = None, order: Any = None) -> Any:  # fmt: skip
    """NumPy's constructor: uninitialized memory, or the elements in a buffer. Aliasing: as
    `frombuffer`."""
    if buffer is None and strides is None:
        with suppress(ForeignError):  # of objects, strings, dates, which only NumPy has
            return empty(shape, dtype, "F" if order_letter(order) == "F" else "C")
    made = _in_memory(np.ndarray(shape, dtype, _memory(buffer), offset, strides, order))
    if isinstance(buffer, Handle) and buffer._host is not None and isinstance(made, Handle):
        made._owner = buffer if buffer._owner is None else buffer._owner
    return made


def derived(kind: type, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """An array of a class derived from NumPy's, by NumPy's constructor. Aliasing: that of a small
    array of lazyfuse, whose memory it is given; of others it has a copy."""
    given: list[Any] = [around(value) if isinstance(value, Handle) else value for value in args]
    named = {key: fallback.lower(value, around) for key, value in options.items()}
    return np.ndarray.__new__(kind, *given, **named)


def frombuffer(
    buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, *, like: Any = None
) -> Any:
    """The elements in a buffer (bytes, bytearray, mmap, shared memory).

    Aliasing: the buffer's memory: both see what is written, and NumPy computes what is done with
    the array alone. Memory that nobody can write (bytes, a file mapped for reading) and that of
    large arrays of lazyfuse is read. On a GPU the array is a copy. Raises: what NumPy's raises for
    buffers that do not fit.
    """
    return _in_memory(call_as_user(np.frombuffer, _memory(buffer), dtype, count, offset))


def _memory(buffer: Any) -> Any:
    """A buffer for NumPy."""
    return as_numpys(buffer) if isinstance(buffer, Handle) else buffer


def _in_memory(made: np.ndarray) -> Any:
    """An array in memory from outside: around an array of NumPy's that is nobody else's."""
    if not fallback.is_known(made.dtype):
        return made
    if session.default_device() == "cpu" and (made.size <= eager_size() or not is_frozen(made)):
        return small_array(made)
    array = to_array(made)
    array._writeable = made.flags.writeable or SEALED
    return array
