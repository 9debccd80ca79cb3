"""NumPy's arrays that do not lie in one piece, as parts of memory that does."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from lazyfuse.ir.layout import Layout


def layout_in_span(array: np.ndarray) -> Layout | None:
    """Where the elements of an array lie in `span(array)`; None where the first one is not the
    first in memory, the strides are not those of whole elements, or there are none."""
    item = array.itemsize
    if not array.size or not array.flags.aligned:
        return None
    if any(stride < 0 or stride % item for stride in array.strides):
        return None
    return Layout(array.shape, tuple([stride // item for stride in array.strides]), 0)


def span(array: np.ndarray) -> np.ndarray:
    """All elements in memory from the first of an array to its last, to be read, of shape (n,).
    It shares the array's memory."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    pairs = zip(array.shape, array.strides, strict=True)
    last = sum((extent - 1) * stride for extent, stride in pairs)
    length = last // array.itemsize + 1
    return as_strided(array, (length,), (array.itemsize,), writeable=False)
