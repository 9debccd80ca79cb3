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
    """Whether a list, or a list in it, begins or ends with an array of ours: many of them are
    NumPy's to join, however long a list they are in."""
    while type(items) in (list, tuple) and items:
        if isinstance(items[-1], Handle):
            return True
        items = items[0]
    return isinstance(items, Handle)
