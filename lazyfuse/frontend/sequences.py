"""Lists and tuples among arguments: of numbers, and of arrays that NumPy is to join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.ops.rules import LOOKED_AT
from lazyfuse.ops.table import DTYPES

#: Types that NumPy takes as scalars beside arrays.
SCALARS = frozenset({bool, int, float, complex, *(np.dtype(code).type for code in DTYPES)})


def are_numbers(items: Sequence[Any]) -> bool:
    """Whether a list has numbers, or lists of such, and no array of ours. Of a long one the ends
    are looked at: all would take as long as NumPy does, which asks arrays in the middle itself."""
    if len(items) <= LOOKED_AT:
        return SCALARS.issuperset(map(type, items))
    return all(
        type(end) in SCALARS or (type(end) in (list, tuple) and are_numbers(end))
        for end in (items[0], items[-1])
    )


def has_pieces(items: Any) -> bool:
    """Whether a list, or the first one in it, begins or ends with an array of ours: many of them
    are NumPy's to join, however long a list they are in."""
    for _ in range(_LEVELS):
        if type(items) not in (list, tuple) or not items:
            return False
        first, last = items[0], items[-1]
        if isinstance(first, Handle) or isinstance(last, Handle):
            return True
        items = first
    return False


#: How many lists deep arrays are looked for: a list may hold itself.
_LEVELS = 4
