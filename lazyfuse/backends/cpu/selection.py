"""Instructions for functions that mostly call others, selected quickly.

LLVM's quick selection comes with its quick allocation of registers where no optimization is asked
for at all, and that costs methods of arrays a tenth of their time. Its usual allocation takes
twice as long as all the rest; with its usual selection, which gives such functions nothing, it is
five times as long. `optnone` has both apart.
"""

from __future__ import annotations

import re

#: The head of a function, up to its attributes, and these.
_HEAD = re.compile(r"^(define [^{]*\))([^(){]*{)", re.MULTILINE)


def selected_quickly(text: str) -> str:
    """A module text all of whose functions, but for those that are inlined, have instructions
    selected quickly at any level of optimization (`optnone` of LLVM's language reference)."""
    return _HEAD.sub(_marked, text)


def _marked(found: re.Match[str]) -> str:
    head, attributes = found.groups()
    if "alwaysinline" in attributes:
        return found[0]
    return f"{head} noinline optnone{attributes}"
