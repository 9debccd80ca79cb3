"""Whose memory an array is, and whether it is nobody else's: what NumPy gives may be what code of
the user's gave it, and keeps (`__array__`, methods, callbacks), which must not be taken over.

Who refers to an object is counted, names of callers among them: as many as there are to a new
array in the same place, which is measured once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np


def is_alone(array: np.ndarray) -> bool:
    """Whether only a name of the caller's refers to an array."""
    return getrefcount(array) <= _ALONE


def alone(result: Any) -> frozenset[int]:
    """The identities of what only a result is, of which the caller has one name, or of its parts:
    items of a tuple or a list, of which there is one name, too."""
    if getrefcount(result) > _ALONE:
        return frozenset()
    if isinstance(result, tuple | list):
        return frozenset(map(id, _own_items(result)))
    return frozenset([id(result)])


def may_be_kept(arguments: Iterable[Any]) -> bool:
    """Whether the result of a call may be what a function keeps that was given to it. Types of
    numbers name dtypes."""
    return any(callable(each) and not _is_of_numbers(each) for each in arguments)


def _is_of_numbers(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, np.generic | int | float | complex)


def is_base_alone(array: np.ndarray, views: int) -> bool:
    """Whether only so many views refer to the base of one of them."""
    return _references_to_base(array) <= _OF_A_BASE - 1 + views


def _own_items(items: Sequence[Any]) -> list[Any]:
    return [item for item in items if getrefcount(item) <= _ITEM]


def _references_to_base(array: np.ndarray) -> int:
    base = array.base
    return getrefcount(base)


def _references(array: np.ndarray) -> int:
    return getrefcount(array)


def _measured() -> tuple[int, int, int]:
    """The references to a new array that a name has, a list, and one view."""
    new, several, view = np.empty(0), [np.empty(0)], np.empty(2)[:1]
    return _references(new), [getrefcount(item) for item in several][0], _references_to_base(view)


_ALONE, _ITEM, _OF_A_BASE = _measured()


def root(array: np.ndarray) -> Any:
    """The object whose memory an array is; `as_strided` puts one between that is no array."""
    base: Any = array
    while True:
        further = getattr(base, "base", None)
        if further is None or further is base:  # a dtype is its own
            return base
        base = further


def is_writeable(array: np.ndarray) -> bool:
    """Whether an array may be written. One that NumPy means to make read-only some day warns where
    its flag is asked for."""
    return bool(array.flags.num & _WRITEABLE)


#: NPY_ARRAY_WRITEABLE of NumPy's ndarraytypes.h.
_WRITEABLE = 0x0400
