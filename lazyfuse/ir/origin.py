"""Where in the user's program a node was recorded."""

from __future__ import annotations

from types import CodeType
from typing import TypeAlias

from lazyfuse.ops.float_flags import ErrorModes

#: The user's code and instruction that recorded a node (`line_of` turns them into file and line),
#: and the `np.errstate` in force then.
Origin: TypeAlias = tuple[CodeType, int, ErrorModes]


def line_of(origin: Origin) -> tuple[str, int]:
    """File name and line of an origin."""
    code, instruction = origin[:2]
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
            break
    return code.co_filename, line
