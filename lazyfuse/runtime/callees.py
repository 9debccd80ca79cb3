"""Which function a frame calls now: who asks an array for its memory in C has no frame of its own.

Read off the stack of the interpreter, whose layout is that of CPython 3.11 to 3.13; elsewhere
nothing is found.
"""

from __future__ import annotations

import ctypes
import dis
import sys
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType, FrameType
from typing import Any

from lazyfuse.runtime import frames
from lazyfuse.runtime.stacks import depths_of, variables_of

#: Instructions that call, and how many values are on the stack behind what is called, or nothing
#: and that: up to 3.11 the first of two takes them off, for `dis`; others have them in a tuple.
_CALLS: Mapping[str, Callable[[int], int]] = {
    "CALL": lambda given: given if sys.version_info >= (3, 12) else 0,
    "PRECALL": lambda given: given,
    "CALL_FUNCTION_EX": lambda flags: 1 + (flags & 1),
}
#: What functions of Cython are.
_OF_CYTHON = frozenset(("cython_function_or_method", "fused_cython_function"))


def calls_cython(frame: FrameType) -> bool:
    """Whether a frame calls a function that Cython has compiled."""
    return type(callee(frame)).__name__ in _OF_CYTHON


def calls_fortran(frame: FrameType) -> bool:
    """Whether a frame calls a function of a module that f2py has made."""
    return _has_fortran() and type(callee(frame)).__name__ == "fortran"


def _has_fortran() -> bool:
    """Whether there is such a module; asked again when others have been imported."""
    count = len(sys.modules)
    if count != _modules[0]:
        spaces = [getattr(module, "__dict__", ()) for module in sys.modules.copy().values()]
        _modules[:] = count, any(_OF_F2PY in space for space in spaces)
    return bool(_modules[1])


#: What such modules have.
_OF_F2PY = "__f2py_numpy_version__"
#: How many modules there were when they were looked through, and whether one was such.
_modules = [0, 0]


def callee(frame: FrameType) -> Any:
    """What a frame calls now; None where that is not found."""
    place = _calls(frame.f_code).get(frame.f_lasti, -1)
    if place < 0:
        return None
    at = _word.from_address(id(frame) + frames.MEMORY).value + place
    if not _word.from_address(at).value:  # nothing, and the function behind it; or a method here
        at += frames.WORD
    return _object.from_address(at).value if _word.from_address(at).value else None


_word, _object = ctypes.c_size_t, ctypes.py_object


@cache
def _first_variable() -> int:
    return frames.first_variable() if sys.version_info < (3, 14) else -1


def _calls(code: CodeType) -> dict[int, int]:
    """By the offset of each call, where the memory of the frame has what is called, or nothing and
    that behind, in bytes."""
    known = _known.get(id(code))
    if known is None:
        if len(_known) >= _MOST:
            _known.clear()
        known = _known[id(code)] = code, _found(code)
    return known[1]


#: Code that is remembered, by its identity, since its hash is one of all its instructions.
_MOST = 256
_known: dict[int, tuple[CodeType, dict[int, int]]] = {}


def _found(code: CodeType) -> dict[int, int]:
    first = _first_variable()
    if first < 0:
        return {}
    steps, begin = [*dis.get_instructions(code)], first + variables_of(code) * frames.WORD
    return {
        each.offset: begin + (depth - 2 - _CALLS[each.opname](each.arg or 0)) * frames.WORD
        for each, depth in zip(steps, depths_of(steps), strict=True)
        if depth is not None and each.opname in _CALLS
    }
