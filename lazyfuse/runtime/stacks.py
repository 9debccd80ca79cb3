"""How many values code of Python's has on the stack of its frame before each instruction."""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import CodeType


def variables_of(code: CodeType) -> int:
    """How many variables of its own a frame of this code has before its stack."""
    cells = code.co_cellvars
    own = len(set(cells) - set(code.co_varnames)) if cells else 0
    return code.co_nlocals + own + len(code.co_freevars)


def _handlers(code: CodeType) -> list[tuple[int, int]]:
    """Where handlers of exceptions begin, and how many values are on the stack then: what was
    there before, the instruction that raised where that is asked for, and the exception."""
    parse = getattr(dis, "_parse_exception_table", None)
    entries = [] if parse is None else parse(code)
    return [(entry.target, entry.depth + entry.lasti + 1) for entry in entries]


def depths_of(code: CodeType, steps: Sequence[dis.Instruction]) -> list[int | None]:
    """How many values are on the stack before each instruction of code; None where that is not
    found."""
    number = {each.offset: place for place, each in enumerate(steps)}
    jumps = {*dis.hasjrel, *dis.hasjabs}
    depths: list[int | None] = [None] * len(steps)
    open_ends = [(number[at], depth) for at, depth in _handlers(code) if at in number] + [(0, 0)]
    while open_ends:
        place, depth = open_ends.pop()
        while place < len(steps) and depths[place] is None:
            each, depths[place] = steps[place], depth
            if each.opcode in jumps:
                effect = dis.stack_effect(each.opcode, each.arg, jump=True)
                open_ends.append((number[each.argval], depth + effect))
            if each.opname in _ENDS:
                break
            if each.opname == "RETURN_GENERATOR":  # what is sent first, which 3.13 alone counts
                depth += 1
            else:
                depth += dis.stack_effect(each.opcode, each.arg, jump=False)
            place += 1
    return depths


#: After these another instruction follows than the next one.
_ENDS = frozenset(
    "JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT RETURN_VALUE RETURN_CONST "
    "RAISE_VARARGS RERAISE INTERPRETER_EXIT".split()
)
