"""Copies of memory that `memmove`, and so NumPy, is slow at.

Where the target lies 1 to 15 bytes further into its page than the source, glibc's `rep movsb`
takes 14 times as long as elsewhere (Zen 4, from 2 KB on to where it stores past the caches;
glibc's bug 30994). `y[1:] = x[:-1]` is such a copy where both arrays begin at a page, as the
engine's do.

Machine code has a rule of its own, `move_bytes` (`backends/cpu/methods_regions_text.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Bytes from which the slow way takes more than the microsecond that it takes to look.
_LEAST = 4096
_PAGE, _NEAR = 4096, 16
_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}


def copy_to(target: np.ndarray, source: Any) -> None:
    """`target[...] = source`. Raises: what NumPy does."""
    if type(source) is not np.ndarray or not _is_moved(target, source):
        target[...] = source


def is_copied(values: np.ndarray, where: Any, given: Any) -> bool:
    """Whether `values[where] = given` has been done, for it is a copy that `memmove` is slow at;
    nothing is done of others."""
    if type(where) is not slice and where is not ... or type(given) is not np.ndarray:
        return False
    return given.nbytes >= _LEAST and _is_moved(values[where], given)


def _is_moved(target: np.ndarray, source: np.ndarray) -> bool:
    if source.nbytes < _LEAST or target.dtype != source.dtype or target.shape != source.shape:
        return False
    if not (target.flags.c_contiguous and source.flags.c_contiguous):
        return False
    apart = _address(target) - _address(source)
    word = _WORDS.get(target.itemsize)
    if word is None or not 0 < apart % _PAGE < _NEAR or abs(apart) < source.nbytes:
        return False
    words = source.reshape(-1).view(word)
    np.bitwise_or(words, words, out=target.reshape(-1).view(word))
    return True


def _address(array: np.ndarray) -> int:
    place: int = array.__array_interface__["data"][0]
    return place
