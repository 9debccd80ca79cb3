"""Instructions for functions that mostly call others, selected quickly.

LLVM's quick selection comes with its quick allocation of registers where no optimization is asked
for at all, and that costs methods of arrays a tenth of their time. Its usual allocation takes
twice as long as all the rest; with its usual selection, which gives such functions nothing, it is
five times as long. `optnone` has both apart.

What works by itself instead, and in each call, is `hot` (of LLVM's language reference, too), and
has usual instructions: they take half of the time.
"""

from __future__ import annotations

import re

#: The head of a function, up to its attributes, and these.
_HEAD = re.compile(r"^(define [^{]*\))([^(){]*{)", re.MULTILINE)


def selected_quickly(text: str) -> str:
    """A module text all of whose functions, but for those that are inlined or hot, have
    instructions selected quickly at any level of optimization (`optnone` of LLVM's language
    reference)."""
    return _HEAD.sub(lambda found: _marked(found, "noinline optnone"), text)


def hot(text: str) -> str:
    """A module text whose functions, but for those that are inlined, are not such."""
    return _HEAD.sub(lambda found: _marked(found, "hot"), text)


def _marked(found: re.Match[str], mark: str) -> str:
    head, attributes = found.groups()
    if "alwaysinline" in attributes or "hot" in attributes:
        return found[0]
    return f"{head} {mark}{attributes}"
