"""Where a running frame of CPython's has its variables and its stack, and a thread its frame.

Structures of CPython's that are no interface, so places are looked for in those of the running
interpreter; what is not found is not used.
"""

from __future__ import annotations

import ctypes
import sys
from typing import NamedTuple

WORD = ctypes.sizeof(ctypes.c_size_t)
#: Where the object of a frame has the address of its memory, in bytes: behind its count of
#: references, its type and the frame before it. Source: CPython's pycore_frame.h, `struct _frame`.
MEMORY = 3 * WORD
#: What is the address in a word of a frame's stack: from 3.14 on the lowest bits are set where the
#: stack has no reference, and of nothing they are all there is. Source: its pycore_stackref.h.
ADDRESS = ~3
#: Words of that memory that are looked at: each version of Python has other fields before them.
_MOST_WORDS = 24
#: Whether Python has its global lock: builds without say so here (`sysconfig` takes 3 ms).
IS_LOCKED = "free-threading" not in sys.version
_IS_KNOWN = sys.implementation.name == "cpython" and IS_LOCKED


def first_variable() -> int:
    """Where the memory of a running frame has its first variable, in bytes, behind which the
    others and the stack are; -1 where that is not found."""
    return _place(object(), object()) if _IS_KNOWN else -1


class Names(NamedTuple):
    """Where the name of the function that runs is, in bytes: `state` in the state of a thread, at
    which the address of a frame is, or with `inner` of what has that there; `code` in the frame,
    `name` in its code. -1 in `state` where that is not found."""

    state: int
    inner: int
    code: int
    name: int


def names() -> Names:
    """Where a thread has the name of its function."""
    return _names() if _IS_KNOWN else _NO_NAMES


_NO_NAMES = Names(-1, -1, 0, 0)
#: The word of a thread's state that has the address of what has the frame's, up to 3.12, and where
#: that is there. Source: CPython's cpython/pystate.h, `struct _ts`, `_PyCFrame`.
_INNER_WORD, _INNER = 7, (WORD, 0)


def _names() -> Names:
    """Where this function's name is."""
    frame = sys._getframe()
    code = frame.f_code
    begin = ctypes.c_size_t.from_address(id(frame) + MEMORY).value
    get = ctypes.pythonapi.PyThreadState_Get
    get.restype, get.argtypes = ctypes.c_size_t, ()
    state = list((ctypes.c_size_t * _MOST_WORDS).from_address(get()))
    found = (state.index(begin) * WORD, -1) if begin in state else None
    if found is None and sys.version_info < (3, 13):
        for inner in _INNER:
            if ctypes.c_size_t.from_address(state[_INNER_WORD] + inner).value == begin:
                found = _INNER_WORD * WORD, inner
    words = list((ctypes.c_size_t * _MOST_WORDS).from_address(begin))
    parts = list((ctypes.c_size_t * (type(code).__basicsize__ // WORD)).from_address(id(code)))
    if found is None or id(code) not in words or id(code.co_name) not in parts:
        return _NO_NAMES
    return Names(*found, words.index(id(code)) * WORD, parts.index(id(code.co_name)) * WORD)


def _place(one: object, other: object) -> int:
    """Where these two variables are."""
    begin = ctypes.c_size_t.from_address(id(sys._getframe()) + MEMORY).value
    words = list((ctypes.c_size_t * _MOST_WORDS).from_address(begin))
    pairs = list(zip(words, words[1:], strict=False))
    wanted = (id(one), id(other))
    return pairs.index(wanted) * WORD if wanted in pairs else -1
