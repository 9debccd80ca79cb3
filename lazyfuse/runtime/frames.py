"""Where a running frame of CPython's has its variables and its stack."""

from __future__ import annotations

import ctypes
import sys
import sysconfig

WORD = ctypes.sizeof(ctypes.c_size_t)
#: Where the object of a frame has the address of its memory, in bytes: behind its count of
#: references, its type and the frame before it. Source: CPython's pycore_frame.h, `struct _frame`.
MEMORY = 3 * WORD
#: Words of that memory that are looked at: each version of Python has other fields before them.
_MOST_WORDS = 24


def first_variable() -> int:
    """Where the memory of a running frame has its first variable, in bytes, behind which the
    others and the stack are; -1 where that is not found."""
    is_locked = not sysconfig.get_config_var("Py_GIL_DISABLED")
    return _place(object(), object()) if is_locked and sys.implementation.name == "cpython" else -1


def _place(one: object, other: object) -> int:
    """Where these two variables are."""
    begin = ctypes.c_size_t.from_address(id(sys._getframe()) + MEMORY).value
    words = list((ctypes.c_size_t * _MOST_WORDS).from_address(begin))
    pairs = list(zip(words, words[1:], strict=False))
    wanted = (id(one), id(other))
    return pairs.index(wanted) * WORD if wanted in pairs else -1
