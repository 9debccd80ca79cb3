"""Integers to integer powers: products where the power is a small number, else NumPy's call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lazyfuse.frontend.convert import Operand
from lazyfuse.frontend.handle import new
from lazyfuse.ir.node import Const, Map, Node, ScalarValue, View
from lazyfuse.ir.order import c_strides
from lazyfuse.ops.shapes import Shape
from lazyfuse.ops.table import OPS
from lazyfuse.ops.types import Types
from lazyfuse.runtime import session

#: Exponents up to which powers are products, ten at most; from 64 on most integers overflow.
_BRIEF = range(2, 64)


def is_brief(exponent: Node) -> bool:
    """Whether integers to this power are a few products."""
    return isinstance(exponent, Const) and type(exponent.value) is int and exponent.value in _BRIEF


def product(base: Node, exponent: int, dtype: str, shape: Shape, strides: tuple[int, ...]) -> Node:
    """Integers to a number by squaring: products of integers that wrap are the same in any
    order."""
    found: Node | None = None

    def times(x: Node, y: Node) -> Node:
        return Map(OPS["multiply"], (dtype, dtype), dtype, shape, strides, (x, y))

    while True:
        if exponent & 1:
            found = base if found is None else times(found, base)
        exponent >>= 1
        if not exponent:
            assert found is not None
            return found
        base = times(base, base)


def may_be_refused(operands: Sequence[Operand], types: Types | None) -> bool:
    """Whether these are integers and powers that may be negative, and are computed as integers;
    `types`: the dtypes that a call fixes."""
    power = operands[1]
    are_integers = all([item.type is int or str(item.type)[0] in "iub" for item in operands])
    is_signed = str(power.type)[0] == "i" if power.value is None else _is_negative(power.value)
    fixed = [dtype.kind for dtype in types or () if dtype is not None]
    return are_integers and is_signed and all(kind in "iub" for kind in fixed)


def _is_negative(number: ScalarValue) -> bool:
    return isinstance(number, int) and number < 0


def check_exponents(nodes: tuple[Node, ...]) -> None:
    """Raise what NumPy raises for negative integer exponents:
    here, not when the power is computed."""
    exponent = nodes[1]
    if isinstance(exponent, Const):
        negative = exponent.value < 0  # type: ignore[operator]  # an integer dtype
    else:
        device, _kept = session.default_device(), None
        if isinstance(exponent, View):  # a view of our own: it goes when the copy is computed
            exponent = View(exponent.srcs[0], exponent.layout)
        elif exponent.handle is None and exponent.srcs:  # a cast of our own, which the power reads
            _kept = new(exponent, device)
        copy = Map(OPS["astype"], (exponent.dtype,), exponent.dtype, exponent.shape,
                   c_strides(exponent.shape), (exponent,))  # fmt: skip
        negative = bool((np.asarray(new(copy, device)) < 0).any())
    if negative:
        raise ValueError("Integers to negative integer powers are not allowed.")
