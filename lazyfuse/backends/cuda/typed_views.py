"""Memory on a GPU read and written as elements of another dtype, through CuPy.

A GPU reads no element that is not aligned, so elements that begin inside others are copied as
bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.ir.layout import Layout


def is_dense(layout: Layout) -> bool:
    """Whether elements fill memory from its begin, in any order of the axes."""
    step = 1
    axes = [(s, n) for s, n in zip(layout.strides, layout.shape, strict=True) if n != 1]
    for stride, extent in sorted(axes):
        if stride != step:
            return False
        step *= extent
    return layout.offset == 0


def read(array: Any, shift: int, dtype: np.dtype, count: int) -> Any:
    """So many elements from byte `shift` of the memory of a dense array, copied."""
    return _memory(array)[shift : shift + count * dtype.itemsize].copy().view(dtype)


def _memory(array: Any) -> Any:
    """The memory of a dense array as one axis of bytes."""
    order = sorted(range(array.ndim), key=lambda axis: (-array.strides[axis], array.shape[axis]))
    return array.transpose(tuple(order)).reshape(-1).view(np.uint8)


def written(cupy: Any, base: Any, dtype: np.dtype, layout: Layout, value: Any) -> Any:
    """A copy of a dense array whose elements at a layout, as `dtype`, are replaced; no element
    twice."""
    made = base.copy(order="K")
    shape, strides, offset = layout
    steps = tuple(stride * dtype.itemsize for stride in strides)
    target = cupy.ndarray(shape, dtype, made.data + offset * dtype.itemsize, strides=steps)
    target[...] = value
    return made
