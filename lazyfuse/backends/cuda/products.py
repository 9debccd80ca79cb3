"""Matrix products on a GPU: every product is one contraction, and every contraction one
`cupy.matmul`, which is cuBLAS (a kernel of CuPy's for integers).

Vectors are matrices of one row or column. A product of one element is a batch of one product:
CuPy would multiply and add it by kernels that round float16 products and flush float32 denormals.

float16 is multiplied and added in float32 and rounded once, as in NumPy: cuBLAS does so with
matrices, of which tensor cores make ten times as many as of float32 (H100; sums of integers that
float16 does not have are exact, and sums of 8,192 products as near as those of float32 copies).
Unless told not to, it may add the parts of a sum in float16, where blocks share it: they overflow
where the sum does not. Stacks are copied to float32 first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

#: CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, of a handle's math mode.
_WHOLE_SUMS = 16


def matmul(cupy: Any, a: Any, b: Any) -> Any:
    """`np.matmul` of CuPy arrays of one dtype."""
    row, column = a.ndim == 1, b.ndim == 1
    a = a[None, :] if row else a
    b = b[:, None] if column else b
    found = _product(cupy, a, b)
    found = found[..., 0] if column else found
    return found[..., 0, :] if row and not column else found[..., 0] if row else found


def _product(cupy: Any, a: Any, b: Any) -> Any:
    """Products of matrices, or of stacks of them."""
    matrices = a.ndim == b.ndim == 2
    is_half = a.dtype == np.float16
    if matrices and (a.shape[0] > 1 or b.shape[1] > 1):
        if not is_half:
            return cupy.matmul(a, b)
        with _whole_sums(cupy):
            return cupy.matmul(a, b)
    if is_half:
        a, b = a.astype(np.float32), b.astype(np.float32)
    return cupy.matmul(a[None], b[None])[0] if matrices else cupy.matmul(a, b)


@contextmanager
def _whole_sums(cupy: Any) -> Iterator[None]:
    """Parts of sums stay in float32, too; for the handle of this thread and GPU."""
    cublas, handle = cupy.cuda.cublas, cupy.cuda.get_cublas_handle()
    mode = cublas.getMathMode(handle)
    cublas.setMathMode(handle, mode | _WHOLE_SUMS)
    try:
        yield
    finally:
        cublas.setMathMode(handle, mode)


def contracted(cupy: Any, a: Any, b: Any, labels: tuple[str, str, str]) -> Any:
    """Sums of products as `einsum` writes them: the labels of the axes of `a`, of `b` and of the
    result, no label twice in one of them, and each in two of them at least."""
    left, right, out = labels
    sizes = dict(zip(left + right, a.shape + b.shape, strict=True))
    batch = [x for x in left if x in right and x in out]
    summed = [x for x in left if x in right and x not in out]
    rows = [x for x in left if x not in right]
    columns = [x for x in right if x not in left]
    a = _arranged(a, left, (batch, rows, summed), sizes)
    b = _arranged(b, right, (batch, summed, columns), sizes)
    order = batch + rows + columns
    found = _product(cupy, a, b).reshape(tuple(sizes[x] for x in order))
    return found.transpose(tuple(order.index(x) for x in out))


def _arranged(
    array: Any, labels: str, parts: tuple[Sequence[str], ...], sizes: dict[str, int]
) -> Any:
    """A matrix, or a stack where there is a batch, with these axes merged."""
    order = [x for part in parts for x in part]
    shape = tuple(math.prod(sizes[x] for x in part) for part in parts)
    return array.transpose(tuple(map(labels.index, order))).reshape(
        shape if parts[0] else shape[1:]
    )


def dot_labels(left: int, right: int) -> tuple[str, str, str]:
    """The labels of `np.dot` for operands of these numbers of axes, one at least."""
    a, b = _letters(left, right)
    k = a[-1]
    place = max(right - 2, 0)
    return a, b[:place] + k + b[place + 1 :], a[:-1] + b[:place] + b[place + 1 :]


def inner_labels(left: int, right: int) -> tuple[str, str, str]:
    """As `dot_labels`, of `np.inner`."""
    a, b = _letters(left, right)
    return a, b[:-1] + a[-1], a[:-1] + b[:-1]


def _letters(left: int, right: int) -> tuple[str, str]:
    letters = "".join(map(chr, range(256, 256 + left + right)))
    return letters[:left], letters[left:]


def einsum_labels(subscripts: str) -> tuple[str, str, str] | None:
    """The labels of subscripts that are one contraction of two operands; None for others."""
    operands, arrow, out = subscripts.replace(" ", "").partition("->")
    left, comma, right = operands.partition(",")
    if not comma or "," in right or "." in subscripts:
        return None
    if not arrow:
        out = "".join(sorted(x for x in {*left, *right} if (left + right).count(x) == 1))
    parts = left, right, out
    letters = {*left, *right}
    is_plain = all(len({*part}) == len(part) for part in parts) and {*out} <= letters
    in_two = all(sum(x in part for part in parts) >= 2 for x in letters)
    return parts if is_plain and in_two else None
