"""Short forms in LLVM texts, written out before LLVM reads them.

    %x = get TYPE %p[N]     the N-th word of 8 bytes from `%p` on
    put TYPE %x, %p[N]      stores one

N is a register, a number or a name; names of capital letters stand for numbers everywhere.
Comments are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_GET = re.compile(r"(%\w+) = get (\w+) ([%@]\w+)\[([%\w]+)\]")
_PUT = re.compile(r"put (\w+) ([%-]?\w+), ([%@]\w+)\[([%\w]+)\]")
_NAME = re.compile(r"\b[A-Z][A-Z_]+\b")


def numbered(*names: str) -> dict[str, int]:
    """Names for the numbers from 0 on."""
    return {name: number for number, name in enumerate(names)}


def expanded(source: str, names: Mapping[str, object]) -> str:
    """A text without short forms and names, which stand for numbers or texts. Raises: KeyError for
    an unknown name."""
    source = re.sub(";.*", "", source)
    source = _NAME.sub(lambda found: str(names[found[0]]), source)
    source = _GET.sub(
        r"\1.at = getelementptr i64, ptr \3, i64 \4\n  \1 = load \2, ptr \1.at", source
    )
    puts = iter(range(len(source)))
    return _PUT.sub(lambda found: _stored(next(puts), *found.groups()), source)


def _stored(number: int, kind: str, value: str, base: str, place: str) -> str:
    at = f"%put{number}"
    return f"{at} = getelementptr i64, ptr {base}, i64 {place}\n  store {kind} {value}, ptr {at}"
