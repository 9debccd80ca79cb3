"""Arrays that pass from one operator to the next, whose memory the next one may use.

    a * b + c              the product is on the interpreter's stack alone: c is added to it

What computes at once gives each result memory of its own, where NumPy reuses that of temporaries.
An operand is one if it has one reference and that is the stack's: the interpreter does an operator
now, and has the operands on its stack, from which they are taken. Where on its stack is read off
the code; from CPython 3.14 on the stack may have no reference to what a variable has one to, and
says so. Another operand of one reference may be that of a C function, as an element of an array
of objects is; the interpreter has something else there.

NumPy looks for functions of the interpreter's on the C stack instead (temp_elide.c of its core),
which cannot be read through machine code that is made at run time.

Machine code does the same (`backends/cpu/methods_passing_text.py`).
"""

from __future__ import annotations

import ctypes
import dis
import sys
from types import CodeType, FrameType
from typing import Any

import numpy as np

from lazyfuse.frontend.rerecord import ARRAYS
from lazyfuse.frontend.windows import changed
from lazyfuse.ops.rules import COMMUTING, REUSING
from lazyfuse.runtime import frames
from lazyfuse.runtime.stacks import depths_of, variables_of

#: Code that is remembered, by its identity, since its hash is one of all its instructions.
_MOST = 256

_known: dict[int, tuple[CodeType, dict[int, int]]] = {}


def left_of(code: CodeType, instruction: int) -> int:
    """Where a frame of this code has the left operand of an operator that makes something new, in
    words behind its first variable; the operator is at an instruction, by its offset in bytes. -1
    where that is not known, and for what is no such operator."""
    known = _known.get(id(code))
    if known is None:
        if len(_known) >= _MOST:
            _known.clear()
        known = _known[id(code)] = code, _lefts(code)
    return known[1].get(instruction, -1)


def _lefts(code: CodeType) -> dict[int, int]:
    """Where the left operands of operators are."""
    variables = variables_of(code)
    steps = [*dis.get_instructions(code)]
    depths = depths_of(code, steps)
    return {
        each.offset: variables + depth - 2
        for each, depth in zip(steps, depths, strict=True)
        if depth is not None and depth >= 2 and _is_operator(each)
    }


def _is_operator(each: dis.Instruction) -> bool:
    return each.opname == "BINARY_OP" and not each.argrepr.endswith(("=", "]"))


# ---- in Python

_FIRST = frames.first_variable()


class _Counted:
    """Counts the references to the left operand of an operator that is a method in Python."""

    def __add__(self, other: None) -> int:
        return sys.getrefcount(self)


#: That number where the interpreter's stack has the only other one, for methods that count as
#: this one does (`binary` of `small_methods.py`).
_ALONE = _Counted() + None


class Reuse:
    """How a method of an operator may use the memory of an operand. `changing`: NumPy's method in
    place, None for operators that make another array in any case."""

    def __init__(self, special: str) -> None:
        short = special.strip("_")
        self._is_reflected = short not in REUSING and short[1:] in REUSING
        short = short[1:] if self._is_reflected else short
        self._commutes = short in COMMUTING
        is_any = self._commutes if self._is_reflected else short in REUSING
        self._kinds = REUSING.get(short, "")
        self.changing = getattr(np.ndarray, f"__i{short}__") if is_any else None

    def passed(self, array: Any, other: Any, references: tuple[int, int], frame: FrameType) -> Any:
        """The operand that has become the result of the operator that a frame is at: it is on its
        stack, and nobody else has it by the numbers of references to both operands that the method
        has counted. None for others. Raises: what the operator does."""
        if self.changing is None or _ALONE not in references:
            return None
        own, others = (count == _ALONE for count in references)
        is_own = own and _gives_alike(array, other, self._kinds)
        may_be_others = others and self._commutes
        if not is_own and not (may_be_others and _gives_alike(other, array, self._kinds)):
            return None
        pair = (other, array) if self._is_reflected else (array, other)
        used, given = (array, other) if is_own else (other, array)
        is_done = _are_operands(pair, used, frame) and changed(self.changing, used, given)
        return used if is_done else None


def _are_operands(pair: tuple[Any, Any], used: Any, frame: FrameType) -> bool:
    """Whether a frame is at an operator and has these operands on its stack, and a reference to
    the one that is used there."""
    words = operand_words(frame)
    return [word & frames.ADDRESS for word in words] == [*map(id, pair)] and id(used) in words


def operand_words(frame: FrameType) -> tuple[int, ...]:
    """The words of its stack in which a frame has the operands of the operator that it is at;
    none where it is at none, and where that is not known."""
    word = left_of(frame.f_code, frame.f_lasti) if _FIRST >= 0 else -1
    if word < 0:
        return ()
    place = _word_at(id(frame) + frames.MEMORY) + _FIRST + word * frames.WORD
    return _word_at(place), _word_at(place + frames.WORD)


def _word_at(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _gives_alike(array: Any, other: Any, kinds: str) -> bool:
    """Whether the result has the dtype, of these kinds, the shape and the memory order of an array
    which is computed memory of the engine, all of it, and lent to nobody. Half precision is the
    kernels'."""
    if type(array) not in ARRAYS or array._host is not None:
        return False
    code, is_whole = array._code, array._owner is None and array._cast is None
    if array._storage.node.buffer is None or not is_whole or code[0] not in kinds or code == "f2":
        return False
    if not array._storage.is_own:  # arrays of NumPy's may share the memory
        return False
    if type(other) not in ARRAYS:
        is_weak = type(other) is int or type(other) is float and code[0] in "fc"
        return is_weak or type(other) is np.float64 and code in ("f8", "c16")
    if other._host is not None or other._cast is not None or other._code != code:
        return False
    own, theirs = array._layout, other._layout
    return own.shape == theirs.shape and (len(own.shape) == 1 or own.strides == theirs.strides)
