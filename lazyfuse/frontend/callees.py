"""Which function a frame calls now: who asks an array for its memory in C has no frame of its own.

Read off the stack of the interpreter, whose layout is that of CPython 3.11 to 3.13; elsewhere
nothing is found.
"""

from __future__ import annotations

import ctypes
import dis
import sys
from functools import cache, lru_cache
from types import CodeType, FrameType
from typing import Any

from lazyfuse.frontend.passing import depths_of, variables_of
from lazyfuse.runtime import frames

#: Instructions that call, and whether what they are given is counted as on the stack before them:
#: up to 3.11 the first of two takes it off, for `dis`.
_CALLS = {"CALL": sys.version_info >= (3, 12), "PRECALL": True}
#: What functions of Cython are.
_OF_CYTHON = frozenset(("cython_function_or_method", "fused_cython_function"))


def calls_cython(frame: FrameType) -> bool:
    """Whether a frame calls a function that Cython has compiled."""
    return type(callee(frame)).__name__ in _OF_CYTHON


def callee(frame: FrameType) -> Any:
    """What a frame calls now, by its name and without keywords packed; None where that is not
    found."""
    place, first = _calls(frame.f_code).get(frame.f_lasti, -1), _first_variable()
    if place < 0 or first < 0:
        return None
    memory = ctypes.c_size_t.from_address(id(frame) + frames.MEMORY).value
    at = memory + first + place * frames.WORD
    for word in (ctypes.c_size_t * 2).from_address(at):
        if word:  # a function, or none and the function behind; a method, and its object behind
            return ctypes.cast(word, ctypes.py_object).value
    return None


@cache
def _first_variable() -> int:
    return frames.first_variable() if sys.version_info < (3, 14) else -1


@lru_cache(maxsize=256)
def _calls(code: CodeType) -> dict[int, int]:
    """By the offset of each call, where the frame has what is called, or nothing and that behind,
    in words behind its first variable."""
    steps = [*dis.get_instructions(code)]
    return {
        each.offset: variables_of(code) + depth - 2 - (each.arg or 0) * _CALLS[each.opname]
        for each, depth in zip(steps, depths_of(steps), strict=True)
        if depth is not None and each.opname in _CALLS
    }
