"""Arrays in memory from outside: of buffers, as NumPy's `frombuffer` and `ndarray(buffer=)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.convert import to_array
from lazyfuse.frontend.creation import empty
from lazyfuse.frontend.handle import Handle, small_array
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import call_as_user


def ndarray(shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0,
            strides: Any = None, order: Any = None) -> Any:  # fmt: skip
    """NumPy's constructor: uninitialized memory, or the elements in a buffer. Aliasing: as
    `frombuffer`."""
    if buffer is None and strides is None:
        return empty(shape, dtype, order or "C")
    memory = buffer._host if isinstance(buffer, Handle) else buffer
    memory = fallback.lower(buffer) if memory is None else memory
    return _in_memory(np.ndarray(shape, dtype, memory, offset, strides, order))


def frombuffer(
    buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, *, like: Any = None
) -> Any:
    """The elements in a buffer (bytes, bytearray, mmap, shared memory).

    Aliasing: the buffer's memory, where that can be written: both see what is written, and NumPy
    computes what is done with the array alone. Raises: what NumPy's raises.
    """
    memory = fallback.lower(buffer)
    return _in_memory(call_as_user(np.frombuffer, memory, dtype, count, offset))


def _in_memory(made: np.ndarray) -> Any:
    """An array in memory from outside: of an array of NumPy's that is nobody else's."""
    if not fallback.is_known(made.dtype):
        return made
    if made.flags.writeable and session.default_device() == "cpu":
        return small_array(made)
    found = to_array(made)
    if not made.flags.writeable:
        found.setflags(write=False)
    return found
