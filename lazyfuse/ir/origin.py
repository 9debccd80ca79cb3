"""Where in the user's program a node was recorded."""

from __future__ import annotations

from types import CodeType
from typing import TypeAlias

from lazyfuse.ops.float_flags import ErrorModes

#: The user's code and instruction that recorded a node (`line_of` turns them into file and line),
#: and the `np.errstate` in force then.
Origin: TypeAlias = tuple[CodeType, int, ErrorModes]


#: The lines of instructions that were asked for, with their code, by its address.
_lines: dict[tuple[int, int], tuple[CodeType, int]] = {}
_REMEMBERED = 1024


def line_of(origin: Origin) -> tuple[str, int]:
    """File name and line of an origin."""
    code, instruction = origin[:2]
    found = _lines.get((id(code), instruction))
    if found is None or found[0] is not code:
        if len(_lines) >= _REMEMBERED:
            _lines.clear()
        found = _lines[id(code), instruction] = code, _line(code, instruction)
    return code.co_filename, found[1]


def _line(code: CodeType, instruction: int) -> int:
    """The line of an instruction: a walk through all before it, in a long script some 60 us."""
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            return number
    return code.co_firstlineno
