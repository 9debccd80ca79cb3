"""Arithmetic, rounding and selection: one row per op."""

from __future__ import annotations

import numpy as np

from lazyfuse.ops import complex_arith as z
from lazyfuse.ops import composite as c
from lazyfuse.ops import extremes
from lazyfuse.ops.body import Value, imag, make_complex, real, select
from lazyfuse.ops.opdef import OpDef
from lazyfuse.ops.reciprocal import floor_divide_by_number, remainder_by_number


def _same(x: Value) -> Value:
    return x


def _rounded(name: str):  # type: ignore[no-untyped-def]  # a body function, typed by OpDef
    return lambda x: x.unary(name)


_QUOTIENTS = {"iu": c.int_floor_divide, "f": c.float_floor_divide}
_QUOTIENTS_BY_NUMBER = {kind: floor_divide_by_number for kind in "iu"}
_REMAINDERS = {"iu": c.int_remainder, "f": c.float_remainder}
_REMAINDERS_BY_NUMBER = {kind: remainder_by_number for kind in "iu"}

ROWS: tuple[OpDef, ...] = (
    OpDef("add", np.add, {"iuf": lambda x, y: x + y, "b": lambda x, y: x | y, "c": z.add}),
    OpDef("subtract", np.subtract, {"iuf": lambda x, y: x - y, "c": z.subtract}),
    OpDef(
        "multiply",
        np.multiply,
        {"iuf": lambda x, y: x * y, "b": lambda x, y: x & y, "c": z.multiply},
    ),
    OpDef("divide", np.divide, {"f": lambda x, y: x / y, "c": z.divide}),
    OpDef("floor_divide", np.floor_divide, _QUOTIENTS, numbers=_QUOTIENTS_BY_NUMBER),
    OpDef("remainder", np.remainder, _REMAINDERS, numbers=_REMAINDERS_BY_NUMBER),
    OpDef("divmod_quotient", np.divmod, _QUOTIENTS, numbers=_QUOTIENTS_BY_NUMBER),
    OpDef("divmod_remainder", np.divmod, _REMAINDERS, output=1, numbers=_REMAINDERS_BY_NUMBER),
    OpDef("fmod", np.fmod, {"iu": c.int_fmod, "f": c.fmod}),
    OpDef("negative", np.negative, {"iuf": lambda x: -x, "c": z.negative}),
    OpDef("positive", np.positive, {"iufc": _same}),
    OpDef("absolute", np.absolute, {"iuf": c.absolute, "b": _same, "c": z.absolute}, ulp=4),
    OpDef("fabs", np.fabs, {"f": c.absolute}),
    OpDef("sign", np.sign, {"iuf": c.sign}),
    OpDef("square", np.square, {"iuf": lambda x: x * x, "c": z.square}),
    OpDef("sqrt", np.sqrt, {"f": lambda x: x.unary("sqrt")}),
    OpDef("reciprocal", np.reciprocal, {"iuf": c.reciprocal, "c": z.reciprocal}),
    OpDef("conjugate", np.conjugate, {"iuf": _same, "c": z.conjugate}),
    OpDef("real", None, {"biuf": _same, "c": real}, operands=1),
    OpDef("imag", None, {"c": imag}, operands=1),
    OpDef("complex_of", None, {"f": make_complex}, operands=2),
    OpDef(
        "maximum",
        np.maximum,
        {
            "iuf": extremes.maximum,
            "b": extremes.bool_maximum,
            "c": z.maximum,
            "e": extremes.half_maximum,
        },
    ),
    OpDef(
        "minimum",
        np.minimum,
        {
            "iuf": extremes.minimum,
            "b": extremes.bool_minimum,
            "c": z.minimum,
            "e": extremes.half_minimum,
        },
    ),
    OpDef(
        "fmax",
        np.fmax,
        {"iuf": extremes.fmax, "b": extremes.bool_maximum, "c": z.fmax, "e": extremes.half_fmax},
    ),
    OpDef(
        "fmin",
        np.fmin,
        {"iuf": extremes.fmin, "b": extremes.bool_minimum, "c": z.fmin, "e": extremes.half_fmin},
    ),
    OpDef(
        "clip",
        np._core.umath.clip,  # type: ignore[attr-defined]  # the ufunc under np.clip is private
        {"iuf": extremes.clip, "b": extremes.bool_clip, "e": extremes.clip_by_numbers},
        numbers={"f": extremes.clip_by_numbers},
    ),
    OpDef(
        "where",
        None,
        {"biufe": c.where, "c": lambda m, x, y: select(c.truth(m), x, y)},
        operands=3,
    ),
    OpDef("astype", None, {"biufce": _same}, operands=1),
    OpDef("floor", np.floor, {"biu": _same, "f": _rounded("floor")}),
    OpDef("ceil", np.ceil, {"biu": _same, "f": _rounded("ceil")}),
    OpDef("trunc", np.trunc, {"biu": _same, "f": _rounded("trunc")}),
    OpDef("rint", np.rint, {"f": _rounded("rint")}),
    OpDef("copysign", np.copysign, {"f": lambda x, y: x.binary("copysign", y)}),
    OpDef("nextafter", np.nextafter, {"f": c.nextafter, "e": c.nextafter_half}),
    OpDef("spacing", np.spacing, {"f": c.spacing, "e": c.spacing_half}),
    OpDef("ldexp", np.ldexp, {"f": c.ldexp}),
    OpDef("frexp_mantissa", np.frexp, {"f": c.frexp_mantissa}),
    OpDef("frexp_exponent", np.frexp, {"f": c.frexp_exponent}, output=1),
    OpDef("modf_fraction", np.modf, {"f": c.modf_fraction}),
    OpDef("modf_integer", np.modf, {"f": _rounded("trunc")}, output=1),
    OpDef("heaviside", np.heaviside, {"f": c.heaviside}),
    OpDef("gcd", np.gcd, {}),
    OpDef("lcm", np.lcm, {}),
)
