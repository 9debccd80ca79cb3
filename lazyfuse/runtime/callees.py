"""Which function a frame calls now: who asks an array for its memory in C has no frame of its own.

Read off the stack of the interpreter, whose layout is that of CPython 3.11 to 3.15; elsewhere
nothing is found. What lies on the stack may be gone by then, for an instruction lets go what it
has called before what it was given: so it is compared with functions that modules keep, and never
looked into.
"""

from __future__ import annotations

import ctypes
import dis
import sys
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType, FrameType, ModuleType
from typing import Any

from lazyfuse.runtime import frames
from lazyfuse.runtime.stacks import depths_of, variables_of

#: Instructions that call, and how many values are on the stack behind what is called, or nothing
#: and that: up to 3.11 the first of two takes them off, for `dis`; others have them in a tuple,
#: behind which keywords are (from 3.14 on, or nothing), or the names of keywords behind them.
_CALLS: Mapping[str, Callable[[int], int]] = {
    "CALL": lambda given: given if sys.version_info >= (3, 12) else 0,
    "PRECALL": lambda given: given,
    "CALL_KW": lambda given: given + 1,
    "CALL_FUNCTION_EX": lambda flags: 2 if sys.version_info >= (3, 14) else 1 + (flags & 1),
}


class _Functions:
    """Those of modules that have a name, of types of these names, by their addresses."""

    def __init__(self, mark: str, kinds: str) -> None:
        self._mark, self._kinds = mark, frozenset(kinds.split())
        self._count = 0
        self._found: dict[int, Any] = {}

    def now(self) -> dict[int, Any]:
        """All there are; modules are looked through again when others have been imported."""
        count = len(sys.modules)
        if count != self._count:
            # of classes of their own are those that are loaded when somebody looks into them
            modules = [each for each in [*sys.modules.values()] if type(each) is ModuleType]
            marked = [vars(module) for module in modules if self._mark in vars(module)]
            functions = [each for space in marked for each in [*space.values()]]
            self._found = {
                id(each): each for each in functions if type(each).__name__ in self._kinds
            }
            self._count = count
        return self._found


_OF_CYTHON = _Functions("__test__", "cython_function_or_method fused_cython_function")
_OF_F2PY = _Functions("__f2py_numpy_version__", "fortran")
_IS_INSTANCE = {id(isinstance): isinstance}
#: By the address of a function of f2py's, itself and whether it can be told to write over what it
#: is given.
_writing: dict[int, tuple[Any, bool]] = {}


def calls_cython(frame: FrameType) -> bool:
    """Whether a frame calls a function of a module that Cython has compiled."""
    return called(frame, _OF_CYTHON.now()) is not None


def calls_isinstance(frame: FrameType) -> bool:
    """Whether a frame asks for the class of something."""
    return called(frame, _IS_INSTANCE) is not None


def is_written_over(frame: FrameType) -> bool:
    """Whether a frame calls a function of a module that f2py has made which keeps what it is given
    unless it is told to write over it (`overwrite_a`)."""
    functions = _OF_F2PY.now()
    found = called(frame, functions) if functions else None
    if found is None:
        return False
    known = _writing.get(id(found))
    if known is None:
        known = _writing[id(found)] = found, "overwrite_" in (found.__doc__ or "")
    return known[1]


def called(frame: FrameType, functions: Mapping[int, Any]) -> Any:
    """Which of these functions, by their addresses, a frame calls now; None for others, and where
    that is not found."""
    first = _first_variable()
    if not functions or first < 0:
        return None
    code = frame.f_code
    begin = ctypes.c_size_t.from_address(id(frame) + frames.MEMORY).value + first
    stack = begin + variables_of(code) * frames.WORD
    words = [word & frames.ADDRESS for word in _block(code.co_stacksize).from_address(stack)]
    if functions.keys().isdisjoint(words):
        return None
    place = _calls(code).get(frame.f_lasti, -1)  # where others have been called before
    if place < 0:
        return None
    return functions.get(words[place] or words[place + 1])


@cache
def _block(count: int) -> Any:
    """So many words."""
    return ctypes.c_size_t * count


@cache
def _first_variable() -> int:
    return frames.first_variable() if sys.version_info < (3, 16) else -1


def _calls(code: CodeType) -> dict[int, int]:
    """By the offset of each call, where the stack has what is called, or nothing and that
    behind."""
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
    steps = [*dis.get_instructions(code)]
    return {
        each.offset: depth - 2 - _CALLS[each.opname](each.arg or 0)
        for each, depth in zip(steps, depths_of(code, steps), strict=True)
        if depth is not None and each.opname in _CALLS
    }
