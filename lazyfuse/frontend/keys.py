"""What an index of a small array is made of."""

from __future__ import annotations

from operator import index
from typing import Any

from lazyfuse.frontend.handle import Handle


def is_basic(key: Any) -> bool:
    """Whether a key is made of integers, slices, ... and None: what it picks is a view, or an
    element."""
    kind = type(key)
    return kind in _BASIC or kind is tuple and _BASIC.issuperset(map(type, key))


_BASIC = frozenset((int, slice, type(None), type(Ellipsis)))


def at_hand(key: Any) -> Any:
    """A key with integers in place of pending scalars: what makes a view in NumPy makes one."""
    if type(key) is tuple:
        return tuple(map(at_hand, key))
    is_integer = type(key) is Handle._scalar and key._code[0] in "iu"
    return index(key) if is_integer else key
