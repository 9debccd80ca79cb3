"""What of a module is worth the time of LLVM's instruction selection: what computes.

That takes four times as long as its quick selection, and gives twice the speed to loops over
elements. To functions that mostly call others, of which machine code has many, it gives little.
"""

from __future__ import annotations

import re

_FUNCTION = re.compile(r"^define .*?^}", re.MULTILINE | re.DOTALL)
#: Vectors, arithmetic of floating point, and loops that add up.
_COMPUTES = re.compile(r"<\d+ x |= f(?:add|sub|mul|div|cmp|neg)\b")
#: The head of a function, up to its attributes.
_HEAD = re.compile(r"define [^{]*\)(?=[^(){]*{)")


def quick_but_where_it_computes(text: str) -> str:
    """A module text whose functions that do not compute are selected quickly, whatever the level
    of optimization (`optnone` of LLVM's language reference)."""
    return _FUNCTION.sub(_marked, text)


def _marked(found: re.Match[str]) -> str:
    function = found[0]
    head = _HEAD.match(function)
    is_inline = "alwaysinline" in function.partition("{")[0]
    if head is None or is_inline or _COMPUTES.search(function):
        return function
    return f"{head[0]} noinline optnone{function[head.end() :]}"
