"""Comparisons, logic and bits: one row per op."""

from __future__ import annotations

import numpy as np

from lazyfuse.ops import complex_arith as z
from lazyfuse.ops import composite as c
from lazyfuse.ops.body import Value, bitcast, cast
from lazyfuse.ops.opdef import OpDef


def _less(x: Value, y: Value) -> Value:
    """Loops of NumPy that compare i8 with u8 are exact."""
    if x.dtype == y.dtype:
        return x < y
    if x.kind == "i":
        return (x < 0) | (cast(x, "u8") < y)
    return (y >= 0) & (x < cast(y, "u8"))


def _equal(x: Value, y: Value) -> Value:
    if x.dtype == y.dtype:
        return x.eq(y)
    signed, unsigned = (x, y) if x.kind == "i" else (y, x)
    return (signed >= 0) & cast(signed, "u8").eq(unsigned)


def _less_equal(x: Value, y: Value) -> Value:
    return x <= y if x.dtype == y.dtype else _less(x, y) | _equal(x, y)


def _truth(x: Value) -> Value:
    return z.truth(x) if x.kind == "c" else c.truth(x)


def _never(x: Value) -> Value:
    return x.body.const(False, "b1")


def _always(x: Value) -> Value:
    return x.body.const(True, "b1")


def _half_sign_bit(x: Value) -> Value:
    return bitcast(x, "i2") < 0


ROWS: tuple[OpDef, ...] = (
    OpDef("equal", np.equal, {"biuf": _equal, "c": z.equal}),
    OpDef(
        "not_equal",
        np.not_equal,
        {"biu": lambda x, y: ~_equal(x, y), "f": lambda x, y: x.ne(y), "c": z.not_equal},
    ),
    OpDef("less", np.less, {"biuf": _less, "c": z.less}),
    OpDef("less_equal", np.less_equal, {"biuf": _less_equal, "c": z.less_equal}),
    OpDef("greater", np.greater, {"biuf": lambda x, y: _less(y, x), "c": z.greater}),
    OpDef(
        "greater_equal",
        np.greater_equal,
        {"biuf": lambda x, y: _less_equal(y, x), "c": z.greater_equal},
    ),
    OpDef("logical_and", np.logical_and, {"biufc": lambda x, y: _truth(x) & _truth(y)}),
    OpDef("logical_or", np.logical_or, {"biufc": lambda x, y: _truth(x) | _truth(y)}),
    OpDef("logical_xor", np.logical_xor, {"biufc": lambda x, y: _truth(x) ^ _truth(y)}),
    OpDef("logical_not", np.logical_not, {"biufc": lambda x: ~_truth(x)}),
    OpDef("bitwise_and", np.bitwise_and, {"biu": lambda x, y: x & y}),
    OpDef("bitwise_or", np.bitwise_or, {"biu": lambda x, y: x | y}),
    OpDef("bitwise_xor", np.bitwise_xor, {"biu": lambda x, y: x ^ y}),
    OpDef("invert", np.invert, {"biu": lambda x: ~x}),
    OpDef("left_shift", np.left_shift, {"iu": c.left_shift}),
    OpDef("right_shift", np.right_shift, {"iu": c.right_shift}),
    OpDef("bitwise_count", np.bitwise_count, {"iu": c.bitwise_count}),
    OpDef("isnan", np.isnan, {"biu": _never, "f": c.is_nan, "c": z.is_nan}),
    OpDef("isinf", np.isinf, {"biu": _never, "f": c.is_inf, "c": z.is_inf}),
    OpDef("isfinite", np.isfinite, {"biu": _always, "f": c.is_finite, "c": z.is_finite}),
    OpDef("signbit", np.signbit, {"f": c.sign_bit, "e": _half_sign_bit}),
)
