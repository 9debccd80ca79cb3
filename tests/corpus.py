"""What the matrix tests range over: ops in families, special values per dtype, and memory layouts.

A family is evaluated in one program, so it shares one tolerance. A layout is a pair: `prepare`
makes a NumPy base from the values, and `view` takes the values back out of the base with the
library under test.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as host

from tests.oracle import EXACT, IS_ENGINE, Rules

BOOL = ("?",)
SIGNED = ("i1", "i2", "i4", "i8")
UNSIGNED = ("u1", "u2", "u4", "u8")
FLOATS = ("f2", "f4", "f8")
COMPLEX = ("c8", "c16")
DTYPES = (*BOOL, *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)

#: Pairs whose common type is not one of theirs, or whose promotion is easily got wrong.
MIXED = (
    ("i4", "f4"), ("u8", "i8"), ("i1", "u1"), ("f4", "f8"), ("f2", "i2"), ("?", "i4"), 
    ("i8", "c8"),
    ("f8", "c8"), ("u4", "i4"), ("?", "f2"), ("u1", "f2"), ("i8", "f4"), ("f2", "f4"),
    ("u2", "i1"), ("c8", "c16"),
)  # fmt: skip

#: Transcendental: the bound on the distance to NumPy's answer stands in the op table (see
#: `family_rules`).
MATH = Rules(ulp=4)
#: The order of +0.0 and -0.0 among equal candidates differs between NumPy's own loops.
ORDERLESS_ZERO = Rules(zero_sign=False)


@dataclass(frozen=True, slots=True)
class Family:
    """Ops of one arity that are evaluated together and compared under one rule."""

    name: str
    arity: int
    ops: tuple[str, ...]
    rules: Rules = EXACT


FAMILIES = (
    Family(
        "signs",
        1,
        ("absolute", "fabs", "negative", "positive", "sign", "conjugate", "square", "reciprocal"),
    ),
    Family("rounding", 1, ("floor", "ceil", "trunc", "rint", "sqrt", "spacing", "modf", "frexp")),
    Family(
        "tests",
        1,
        ("isfinite", "isinf", "isnan", "signbit", "logical_not", "invert", "bitwise_count"),
    ),
    Family("angles", 1, ("deg2rad", "rad2deg", "degrees", "radians")),
    Family("exponentials", 1, ("exp", "exp2", "expm1"), MATH),
    Family("logarithms", 1, ("log", "log2", "log10", "log1p", "cbrt"), MATH),
    Family("trigonometric", 1, ("sin", "cos", "tan"), MATH),
    Family("inverse trigonometric", 1, ("arcsin", "arccos", "arctan"), MATH),
    Family("hyperbolic", 1, ("sinh", "cosh", "tanh"), MATH),
    Family("inverse hyperbolic", 1, ("arcsinh", "arccosh", "arctanh"), MATH),
    Family("arithmetic", 2, ("add", "subtract", "multiply", "divide")),
    Family("integer division", 2, ("floor_divide", "remainder", "fmod", "divmod")),
    Family(
        "comparisons", 2, ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    ),
    Family(
        "logic",
        2,
        ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
    ),
    Family("shifts", 2, ("left_shift", "right_shift", "gcd", "lcm")),
    Family("extrema", 2, ("maximum", "minimum", "fmax", "fmin"), ORDERLESS_ZERO),
    Family("floating", 2, ("copysign", "nextafter", "heaviside", "ldexp")),
    Family("powers", 2, ("power", "float_power"), MATH),
    Family("two-argument math", 2, ("arctan2", "hypot"), MATH),
    Family("log sums", 2, ("logaddexp", "logaddexp2"), MATH),
)
OPS = tuple(op for family in FAMILIES for op in family.ops)

#: The ops with a bound of their own against the true value: (float32, float64), in ULP.
ACCURACY = dict.fromkeys(("exp", "log", "sin", "cos", "tanh"), (1.5, 2.0))
OTHER_ACCURACY = (4.0, 4.0)


def family_rules(family: Family, *dtypes: str) -> Rules:
    """Return the rule of a family for some dtypes.

    The bound of a transcendental family is the largest in its rows. Complex products are looser
    because NumPy fuses them (`muladdsub`) where the machine can, and complex functions because
    they are libm's.
    """
    is_complex = any(host.dtype(name).kind == "c" for name in dtypes)
    if is_complex and family.name in ("signs", "arithmetic", "rounding"):
        return Rules(ulp=4)
    if not family.rules.ulp:
        return family.rules
    return Rules(ulp=16 if is_complex else table_ulp(family))


def table_ulp(family: Family) -> int:
    """Return the largest bound that the op table states for a family."""
    if not IS_ENGINE:
        return 0
    rows = importlib.import_module("lazyfuse.ops.table").OPS
    return max(rows[op].ulp for op in family.ops)


def special_values(dtype: str) -> Any:
    """Return the values of a dtype where implementations differ, then ordinary ones, 24 in all (2
    for bool).
    """
    kind = host.dtype(dtype).kind
    if kind == "b":
        return host.array([False, True])
    if kind in "iu":
        return _special_integers(dtype)
    if kind == "f":
        return _special_floats(dtype)
    return _special_complex(dtype)


def _special_integers(dtype: str) -> Any:
    info = host.iinfo(dtype)
    values = [
        0,
        1,
        2,
        3,
        5,
        7,
        12,
        13,
        31,
        32,
        63,
        64,
        100,
        120,
        info.max,
        info.max - 1,
        info.max // 2,
    ]
    values += (
        [-1, -2, -7, -27, -100, info.min, info.min + 1]
        if info.min
        else [8, 9, 15, 16, 17, 127, 33]
    )
    return host.array(values, dtype)


def _special_floats(dtype: str) -> Any:
    info = host.finfo(dtype)
    tiny = float(info.smallest_subnormal)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, 10.0, 100.25, 0.1, -7.75]
    values += [host.inf, -host.inf, host.nan, tiny, -3 * tiny, float(info.smallest_normal)]
    values += [float(info.max), float(info.min), 1 + float(info.eps), -1e-3, 1234.5]
    return host.array(values, dtype)


def _special_complex(dtype: str) -> Any:
    parts = [0.0, -1.5, 2.0, host.inf, host.nan]
    values = [complex(real, imag) for real in parts for imag in parts][:24]
    values[1] = complex(-0.0, 0.0)
    values[5] = complex(0.25, -3.0)
    return host.array(values, dtype)


def finite_complex(dtype: str) -> Any:
    """Return 24 ordinary complex values: complex infinities are NumPy's (or libm's) own
    business.
    """
    rng = host.random.default_rng(7)
    return (rng.normal(size=24) * 2 + 1j * rng.normal(size=24)).astype(dtype)


def unary_values(dtype: str) -> Any:
    """Return an (8, 9) array: the special values and random ones of many magnitudes."""
    special = special_values(dtype) if host.dtype(dtype).kind != "c" else finite_complex(dtype)
    return host.concatenate([special, random_values(dtype, 72 - len(special))]).reshape(8, 9)


def random_values(dtype: str, size: int, seed: int = 5) -> Any:
    """Return values of many magnitudes, so that the order of a sum shows in its last bits."""
    rng = host.random.default_rng(seed)
    kind = host.dtype(dtype).kind
    if kind == "b":
        return rng.random(size) < 0.5
    if kind in "iu":
        info = host.iinfo(dtype)
        return rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    scale = 2.0 ** rng.integers(-6, 6, size)
    if kind == "f":
        return (rng.normal(size=size) * scale).astype(dtype)
    return (rng.normal(size=size) * scale + 1j * rng.normal(size=size)).astype(dtype)


def pair_values(left: str, right: str) -> tuple[Any, Any]:
    """Return two equal-shape arrays that pair every special value of one dtype with every one of
    the other.
    """
    simple = "c" in host.dtype(left).kind + host.dtype(right).kind
    columns, rows = (
        finite_complex(d) if simple and d in COMPLEX else special_values(d) for d in (left, right)
    )
    shape = (len(columns), len(rows))
    first, second = host.broadcast_to(columns[:, None], shape), host.broadcast_to(rows, shape)
    return first.copy(), second.copy()


def usable(family: Family, x: Any, y: Any) -> tuple[Any, Any]:
    """Replace values whose result NumPy leaves open, or that make it raise for the data (tested
    elsewhere).
    """
    if family.name == "powers" and y.dtype.kind in "iu" and x.dtype.kind in "iu?":
        y = abs(y // 2)  # no negative integer powers
    if family.name == "log sums" and x.dtype.kind == y.dtype.kind == "f":
        y = host.where(abs(host.logaddexp(x, y)) < 0.5 * abs(x), x, y).astype(
            y.dtype
        )  # no cancellation
    return x, y


@dataclass(frozen=True, slots=True)
class Layout:
    """`prepare` makes a NumPy base from a 2-D array of values; `view` takes the values out of the
    base again.
    """

    name: str
    prepare: Callable[[Any], Any]
    view: Callable[[Any, Any], Any]
    flat: bool = False


def _same(np: Any, base: Any) -> Any:
    return base


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("contiguous", host.ravel, _same, flat=True),
        Layout("strided", lambda v: host.repeat(v.ravel(), 2), lambda np, b: b[::2], flat=True),
        Layout("reversed", lambda v: v.ravel()[::-1].copy(), lambda np, b: b[::-1], flat=True),
        Layout(
            "offset", lambda v: host.r_[v.ravel()[:1], v.ravel()], lambda np, b: b[1:], flat=True
        ),
        Layout("matrix", host.ascontiguousarray, _same),
        Layout("transposed", lambda v: v.T.copy(), lambda np, b: b.T),
        Layout("fortran", host.asfortranarray, _same),
        Layout("inner strided", lambda v: host.repeat(v, 2, axis=1), lambda np, b: b[:, ::2]),
        Layout("outer reversed", lambda v: v[::-1].copy(), lambda np, b: b[::-1]),
        Layout(
            "row broadcast",
            lambda v: v[:1].copy(),
            lambda np, b: np.broadcast_to(b, (5, b.shape[1])),
        ),
        Layout(
            "column broadcast",
            lambda v: v[:, :1].copy(),
            lambda np, b: np.broadcast_to(b, (b.shape[0], 5)),
        ),
        Layout("one element", lambda v: v[1:2, 1:2].copy(), _same),
        Layout("0-d", lambda v: v[1, 1:2].copy(), lambda np, b: b[0, ...]),
        Layout("empty", lambda v: v[:0].copy(), _same),
    )
}

#: For two operands: their layouts, which broadcast together when the values do.
LAYOUT_PAIRS = (
    ("contiguous", "contiguous"), ("strided", "reversed"), ("matrix", "transposed"), 
    ("fortran", "fortran"),
    ("inner strided", "outer reversed"), ("offset", "strided"), ("0-d", "contiguous"),
    ("matrix", "0-d"),
    ("0-d", "0-d"), ("empty", "empty"), ("one element", "transposed"),
)  # fmt: skip


def refusal(raised: Exception) -> str:
    """Name the public type of an exception, the one a user can catch."""
    kinds = type(raised).__mro__
    return next(
        kind.__name__ for kind in kinds if kind.__module__ in ("builtins", "numpy.exceptions")
    )


def attempt(np: Any, name: str, operands: tuple[Any, ...]) -> Any:
    """Call one op; a refusal is a result too."""
    try:
        return getattr(np, name)(*operands)
    except Exception as raised:  # noqa: BLE001 - any exception type is an answer here
        return refusal(raised)
