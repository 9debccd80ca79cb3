"""Transcendental functions: one row per op.
`ulp` bounds the distance to NumPy's result (each side errs)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lazyfuse.ops import complex_math as z
from lazyfuse.ops import composite as c
from lazyfuse.ops.body import Value, flag
from lazyfuse.ops.float_flags import DIVIDE, INVALID
from lazyfuse.ops.opdef import OpDef


def _unary(primitive: str) -> Callable[[Value], Value]:
    return lambda x: x.unary(primitive)


def _log(primitive: str) -> Callable[[Value], Value]:
    """A logarithm: 0 is a division by zero, less is invalid."""

    def body(x: Value) -> Value:
        return flag(flag(x.unary(primitive), x.eq(0.0), DIVIDE), x < 0.0, INVALID)

    return body


def _log1p(x: Value) -> Value:
    return flag(flag(x.unary("log1p"), x.eq(-1.0), DIVIDE), x < -1.0, INVALID)


def _arccosh(x: Value) -> Value:
    return flag(x.unary("acosh"), x < 1.0, INVALID)


def _arctanh(x: Value) -> Value:
    size = x.unary("abs")
    return flag(flag(x.unary("atanh"), size.eq(1.0), DIVIDE), size > 1.0, INVALID)


def _binary(primitive: str) -> Callable[[Value, Value], Value]:
    return lambda x, y: x.binary(primitive, y)


ROWS: tuple[OpDef, ...] = (
    OpDef("exp", np.exp, {"f": _unary("exp"), "c": z.exp}, ulp=4),
    OpDef("exp2", np.exp2, {"f": _unary("exp2")}, ulp=4),
    OpDef("expm1", np.expm1, {"f": _unary("expm1")}, ulp=4),
    OpDef("log", np.log, {"f": _log("log"), "c": z.log}, ulp=4),
    OpDef("log2", np.log2, {"f": _log("log2"), "c": z.log2}, ulp=4),
    OpDef("log10", np.log10, {"f": _log("log10"), "c": z.log10}, ulp=4),
    OpDef("log1p", np.log1p, {"f": _log1p}, ulp=4),
    OpDef("sin", np.sin, {"f": _unary("sin"), "c": z.sin}, ulp=4),
    OpDef("cos", np.cos, {"f": _unary("cos"), "c": z.cos}, ulp=4),
    OpDef("tan", np.tan, {"f": _unary("tan")}, ulp=5),
    OpDef("sinh", np.sinh, {"f": _unary("sinh"), "c": z.sinh}, ulp=5),
    OpDef("cosh", np.cosh, {"f": _unary("cosh"), "c": z.cosh}, ulp=5),
    OpDef("tanh", np.tanh, {"f": _unary("tanh")}, ulp=5),
    OpDef("arcsin", np.arcsin, {"f": _unary("asin")}, ulp=5),
    OpDef("arccos", np.arccos, {"f": _unary("acos")}, ulp=5),
    OpDef("arctan", np.arctan, {"f": _unary("atan")}, ulp=5),
    OpDef("arctan2", np.arctan2, {"f": _binary("atan2")}, ulp=5),
    OpDef("arcsinh", np.arcsinh, {"f": _unary("asinh")}, ulp=5),
    OpDef("arccosh", np.arccosh, {"f": _arccosh}, ulp=5),
    OpDef("arctanh", np.arctanh, {"f": _arctanh}, ulp=5),
    OpDef("cbrt", np.cbrt, {"f": _unary("cbrt")}, ulp=4),
    OpDef("hypot", np.hypot, {"f": _binary("hypot")}, ulp=4),
    OpDef("power", np.power, {"f": c.power}, ulp=5),
    OpDef("float_power", np.float_power, {"f": c.power}, ulp=5),
    OpDef("logaddexp", np.logaddexp, {"f": c.logaddexp}, ulp=8),
    OpDef("logaddexp2", np.logaddexp2, {"f": c.logaddexp2}, ulp=8),
    OpDef("deg2rad", np.deg2rad, {"f": c.radians}),
    OpDef("radians", np.radians, {"f": c.radians}),
    OpDef("rad2deg", np.rad2deg, {"f": c.degrees}),
    OpDef("degrees", np.degrees, {"f": c.degrees}),
)
