"""Matrix products: recorded library calls.
Nothing fuses into them; what is around them still fuses."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.convert import ForeignError, operand
from lazyfuse.frontend.elementwise import common_device
from lazyfuse.frontend.handle import new
from lazyfuse.frontend.operators import defers
from lazyfuse.ir.node import Opaque
from lazyfuse.ir.order import c_strides
from lazyfuse.ops.shapes import Shape, broadcast
from lazyfuse.ops.types import code


def matmul(x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Any:
    """Matrix product, as `np.matmul`: recorded, run by BLAS.
    Raises: ValueError when the core axes do not match."""
    return _product("matmul", x1, x2, out, options)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Dot product, as `np.dot`; recorded for operands of one or two axes."""
    return _product("dot", a, b, out, {})


def _product(name: str, x1: Any, x2: Any, out: Any, options: dict[str, Any]) -> Any:
    function = getattr(np, name)
    try:
        left, right = operand(x1), operand(x2)
    except ForeignError:
        return _called(function, x1, x2, out, options)
    if left.node is None or right.node is None or out is not None or options:
        return _called(function, x1, x2, out, options)
    if name == "dot" and max(len(left.node.shape), len(right.node.shape)) > 2:
        return _called(function, x1, x2, out, options)
    shape = product_shape(left.node.shape, right.node.shape)
    dtypes = (np.dtype(left.node.dtype), np.dtype(right.node.dtype), None)
    dtype = code(np.matmul.resolve_dtypes(dtypes)[2])
    node = Opaque(
        name,
        function,
        "matrix products run in BLAS",
        shape=shape,
        dtype=dtype,
        strides=c_strides(shape),
        srcs=(left.node, right.node),
    )
    return new(node, common_device((left, right)))


def _called(function: Any, x1: Any, x2: Any, out: Any, options: dict[str, Any]) -> Any:
    given = dict(options) if out is None else {**options, "out": out}
    return fallback.call(function, x1, x2, **given)


def product_shape(left: Shape, right: Shape) -> Shape:
    """The shape of a matrix product. Raises: ValueError in NumPy's words."""
    if not left or not right:
        number = 0 if not left else 1
        raise ValueError(
            f"matmul: Input operand {number} does not have enough dimensions "
            "(has 0, gufunc core with signature (n?,k),(k,m?)->(n?,m?) requires 1)"
        )
    inner = right[0] if len(right) == 1 else right[-2]
    if left[-1] != inner:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
            f"signature (n?,k),(k,m?)->(n?,m?) (size {inner} is different from {left[-1]})"
        )
    stack = broadcast([left[:-2], right[:-2]])
    return stack + left[-2:-1] + (right[-1:] if len(right) > 1 else ())


def matmul_operator(self: Any, other: Any) -> Any:
    return NotImplemented if defers(other) else matmul(self, other)


def reflected_matmul(self: Any, other: Any) -> Any:
    return NotImplemented if defers(other) else matmul(other, self)


def in_place_matmul(self: Any, other: Any) -> Any:
    self[...] = matmul(self, other)
    return self


def dot_method(self: Any, b: Any, out: Any = None) -> Any:
    return dot(self, b, out)
