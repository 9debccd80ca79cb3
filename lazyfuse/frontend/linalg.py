"""Matrix products: recorded library calls.
Nothing fuses into them; what is around them still fuses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy._core import multiarray
from numpy.lib.stride_tricks import as_strided

from lazyfuse.frontend import fallback, others, products
from lazyfuse.frontend.at_once import Memory, computed, product
from lazyfuse.frontend.convert import ForeignError, check_home, device_beside
from lazyfuse.frontend.handle import Handle, new, view
from lazyfuse.frontend.library import Call, device_of, node_of, opaque, record
from lazyfuse.frontend.operators import has_own_idea, override, override_in_place
from lazyfuse.frontend.outputs import as_array
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.order import is_contiguous
from lazyfuse.ops.shapes import shape_text
from lazyfuse.ops.types import code

_REASON = "matrix products run in BLAS"


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Dot product, as `np.dot`: sums over the last axis of `a` and the last but one of `b`.
    Raises: ValueError when these differ, and for an `out` that is not as the result will be."""
    if isinstance(out, Handle) and not is_contiguous(out._layout.shape, out._layout.strides):
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, "
            "and be a C-Array)"
        )
    return _product(np.dot, (a, b), out)


def inner(a: Any, b: Any, /) -> Any:
    """Sums of products over the last axes. Raises: ValueError when these differ."""
    return _product(np.inner, (a, b))


def vdot(a: Any, b: Any, /) -> Any:
    """Dot product of all elements of two arrays in C order; `a` is conjugated."""
    return _product(np.vdot, (a, b))


def det(a: Any) -> Any:
    """Determinants of square matrices over the last two axes; recorded.
    Raises: LinAlgError for what is not square."""
    if others.decide(np.linalg.det, (a,), {}):
        return others.call(np.linalg.det, (a,), {})
    try:
        call = Call(np.linalg.det, name="linalg.det")
        return record(call, (a,), reason="linear algebra runs in LAPACK")
    except ForeignError:
        return fallback.call(np.linalg.det, a)


def _product(function: Any, operands: tuple[Any, ...], out: Any = None) -> Any:
    """The recorded product, written into `out` where that looks as the product does."""
    given = {} if out is None else {"out": out}
    if not given or isinstance(out, Handle):
        try:
            found = record(Call(function), operands, reason=_REASON)
            if not given:
                return found
            found = as_array(found)
            if (found._layout.shape, found._code) == (out._layout.shape, out._code):
                check_home(device_beside((out,)), found.device)
                out._write(found._read())
                return out
        except ForeignError:
            pass
    return fallback.call(function, *operands, **given)


def correlate(a: Any, v: Any, mode: Any) -> Any:
    """`multiarray.correlate`, the sums of products that `np.convolve` asks for."""
    return _correlated(multiarray.correlate, a, v, mode)


def correlate2(a: Any, v: Any, mode: Any) -> Any:
    """`multiarray.correlate2`, as `correlate` with `v` conjugated, for `np.correlate`."""
    return _correlated(multiarray.correlate2, a, v, mode)


def _correlated(function: Any, a: Any, v: Any, mode: Any) -> Any:
    now = computed(function, (a, v), _length, (), (("mode", mode),))
    if now is not None:
        return now
    try:
        device = device_of((a, v))
        left, right = node_of(a, device), node_of(v, device)
    except ForeignError:
        return fallback.call(function, a, v, mode)
    if any(len(node.shape) != 1 or not node.shape[0] for node in (left, right)):
        return fallback.call(function, a, v, mode)
    long, short = sorted((left.shape[0], right.shape[0]), reverse=True)
    lengths = {"valid": long - short + 1, "same": long, "full": long + short - 1}
    if mode not in lengths:
        return fallback.call(function, a, v, mode)
    dtype = code(np.result_type(np.dtype(left.dtype), np.dtype(right.dtype)))
    call = Call(function, options=(("mode", mode),))
    node = opaque(call, (left, right), (lengths[mode],), dtype, (1,), "sliding sums run in NumPy")
    return new(node, device)


def _length(memory: Sequence[Memory]) -> int:
    """At most, of sums of products of two vectors."""
    return sum(math.prod(shape) for shape, *_ in memory)


def einsum(*operands: Any, out: Any = None, **options: Any) -> Any:
    """`np.einsum` without optimization: subscripts and arrays, or arrays and lists of axes.

    Aliasing: a view where NumPy gives one, for one operand and no sum. Raises: ValueError for
    subscripts that do not fit.
    """
    function = multiarray.c_einsum
    found = None if out is not None or options else _einsum_view(operands)
    if found is not None:
        return found
    if out is not None or not operands or not isinstance(operands[0], str):
        given = dict(options) if out is None else {**options, "out": out}
        return fallback.call(function, *operands, **given)
    subscripts, *arrays = operands
    try:
        call = Call(function, (subscripts,), tuple(sorted(options.items())), "einsum")
        return record(call, arrays, reason=_REASON)
    except ForeignError:
        return fallback.call(function, *operands, **options)


def _einsum_view(operands: tuple[Any, ...]) -> Any:
    """The view that NumPy gives of one array, or None where it gives a new array. NumPy is asked
    on one element with the strides of the array: it only looks at them."""
    kinds = tuple(map(type, operands))
    place = int(kinds[:1] == (str,))  # of the array
    beside = (str,) if place else (list, tuple)
    others = kinds[:place] + kinds[place + 1 :]
    is_one = len(operands) > place and isinstance(operands[place], Handle)
    if not is_one or not others or not all(kind in beside for kind in others):
        return None
    array: Any = operands[place]

    def asked(array: np.ndarray) -> np.ndarray:
        found: np.ndarray = multiarray.c_einsum(*operands[:place], array, *operands[place + 1 :])
        return found

    one = np.broadcast_to(np.ones((), array.dtype), (1,) * array.ndim)
    if not np.may_share_memory(asked(one), one):
        return None
    seen = asked(as_strided(np.ones((), array.dtype), array.shape, array.strides))
    strides = tuple(stride // array.itemsize for stride in seen.strides)
    return view(array, Layout(seen.shape, strides, array._layout.offset))


def matmul_operator(self: Any, other: Any) -> Any:
    if has_own_idea(other):
        return override(np.matmul, (self, other), other)
    found = product(self, other)
    return products.call(np.matmul, (self, other), {}) if found is None else found


def reflected_matmul(self: Any, other: Any) -> Any:
    if has_own_idea(other):
        return override(np.matmul, (other, self), other)
    found = product(other, self)
    return products.call(np.matmul, (other, self), {}) if found is None else found


#: The keyword `axes` that NumPy gives `matmul` in place: of matrices, and of vectors
#: (array_inplace_matrix_multiply in its number.c).
_IN_PLACE = [(-2, -1), (-2, -1), (-2, -1)], [(-1,), (-2, -1), (-1,)]


def in_place_matmul(self: Any, other: Any) -> Any:
    if has_own_idea(other):
        return override_in_place(np.matmul, self, other, axes=_IN_PLACE[self.ndim == 1])
    if self.ndim and np.ndim(other) == 1:
        raise ValueError(
            "inplace matrix multiplication requires the first operand to have at least one and "
            "the second at least two dimensions."
        )
    product = products.call(np.matmul, (self, other), {})
    if product.shape[-1] != self.shape[-1]:
        raise ValueError(
            "matmul: Output operand 0 has a mismatch in its core dimension "
            f"{min(self.ndim, 2) - 1}, with gufunc signature (n?,k),(k,m?)->(n?,m?) "
            f"(size {self.shape[-1]} is different from {product.shape[-1]})"
        )
    if product.shape != self.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {shape_text(self.shape)} doesn't match "
            f"the broadcast shape {shape_text(product.shape)}"
        )
    self[...] = product
    return self


def dot_method(self: Any, b: Any, out: Any = None) -> Any:
    return dot(self, b, out)
