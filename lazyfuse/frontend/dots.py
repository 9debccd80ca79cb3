"""Where `x.dot(y)` is `x @ y`, bit for bit: machine code takes operators on the shortest way.

Of vectors that run forward, where BLAS multiplies them, and of matrices of real floats in one
piece (complex ones of one row or column differ, and of what runs backwards `dot` makes copies).
An operand of one element is a factor to `dot`, which adds nothing to 0 and looks at no infinity
where it is 0.
"""

from __future__ import annotations

import math
from typing import Any

from lazyfuse.ir.order import is_contiguous, is_f_contiguous

_REAL, _BLAS = frozenset(("f4", "f8")), frozenset(("f4", "f8", "c8", "c16"))


def is_matmul(x: Any, y: Any) -> bool:
    """Whether that is so of two arrays of the engine, which can be multiplied."""
    dtype = x._code
    if dtype != y._code or dtype not in _BLAS:
        return False
    shape, other = x.shape, y.shape
    axes = len(shape), len(other)
    if math.prod(shape) == 1 or math.prod(other) == 1:
        return False
    if axes == (1, 1):
        return shape == other and bool(x.strides > (0,) < y.strides)
    if dtype not in _REAL or axes not in ((1, 2), (2, 1), (2, 2)) or shape[-1] != other[0]:
        return False
    return _is_dense(x) and _is_dense(y)


def _is_dense(array: Any) -> bool:
    host = array._host
    if host is not None:
        return bool(host.flags.forc)
    layout = array._layout[:2]
    return is_contiguous(*layout) or is_f_contiguous(*layout)
