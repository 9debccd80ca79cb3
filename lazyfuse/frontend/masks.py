"""What a mask of a whole array picks, writes or lists, at once: by the backend where it does that
faster than NumPy, else by NumPy."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from lazyfuse import config
from lazyfuse.runtime import session

#: Elements from which a call of the backend, of 3 us, is less than it saves.
_LEAST = 4096
#: Numbers up to which all kinds of floats have them, but perhaps rounded.
_LARGEST = 60_000


def filtered(values: np.ndarray, mask: np.ndarray, count: int | None = None) -> np.ndarray:
    """values[mask], for a mask of the same shape: new memory. `count`: how many are true, where
    that is known."""
    packs = _packs(values, mask)
    if packs is not None:
        out = np.empty(np.count_nonzero(mask) if count is None else count, values.dtype)
        if not out.size or packs.pick(values, mask, out):  # of nothing, nothing has to be picked
            return out
    if values.flags.c_contiguous and mask.flags.c_contiguous:  # a quarter of NumPy's time by masks
        return values.reshape(-1).take(np.flatnonzero(mask))
    found: np.ndarray = values[mask]
    return found


def listed(mask: np.ndarray, dtype: str) -> np.ndarray:
    """np.flatnonzero(mask), as integers of a dtype that holds them."""
    packs = _packs(mask, mask)
    if packs is not None:
        out = np.empty(np.count_nonzero(mask), dtype)
        if packs.list_true(mask, out):
            return out
    return np.flatnonzero(mask).astype(dtype, copy=False)


def place(target: np.ndarray, mask: np.ndarray, values: np.ndarray) -> None:
    """target[mask] = values, for arrays of one dtype. Raises: ValueError for as many values as
    are not chosen."""
    if not is_placed(target, mask, values):
        target[mask] = values


def fill(target: np.ndarray, mask: np.ndarray, value: Any) -> None:
    """target[mask] = value, for a number. Raises: what NumPy does."""
    packs = _packs(target, mask) if mask.shape == target.shape else None
    if packs is not None and _is_kept(value, target.dtype):
        if not np.may_share_memory(target, mask):
            if packs.fill(target, mask, np.array([value], target.dtype)):
                return
    target[mask] = value


def _is_kept(value: Any, dtype: np.dtype) -> bool:
    """Whether a number becomes an element without a word about it."""
    kind = type(value)
    if dtype.kind in "iu":
        return kind is int and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    if dtype.kind == "b":
        return kind is bool
    is_real = kind is float or kind is int or kind is np.float64
    return is_real and (abs(value) <= _LARGEST or not isfinite(value))


def is_placed(target: np.ndarray, mask: Any, values: Any) -> bool:
    """Whether target[mask] = values has been done: for a mask of the same shape and an array of
    the same dtype with an element for each that is true."""
    if not isinstance(mask, np.ndarray) or not isinstance(values, np.ndarray):
        return False
    if mask.dtype != bool or mask.shape != target.shape or values.ndim != 1:
        return False
    if values.dtype != target.dtype or not values.flags.c_contiguous:
        return False
    packs = _packs(target, mask)
    if packs is None or np.count_nonzero(mask) != values.size:
        return False
    if np.may_share_memory(target, mask) or np.may_share_memory(target, values):
        return False
    return bool(packs.place(target, mask, values))


def _packs(values: np.ndarray, mask: np.ndarray) -> Any:
    """The backend, where it may be asked."""
    if mask.size < _LEAST or not config.current().native:
        return None
    if not (values.flags.c_contiguous and mask.flags.c_contiguous):
        return None
    return getattr(session.backend("cpu"), "masks", None)
