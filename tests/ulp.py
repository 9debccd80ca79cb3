"""Error bounds of vector math, the points where they are measured, and the reference: NumPy in
long double.

`BOUNDS` is the one table: tests assert it, docs/accuracy.md prints it beside what
scripts/ulp_table measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from tests.vector_loop import compile_function

Points = tuple[NDArray[np.floating], ...]

BOUNDS: Mapping[str, tuple[float, float]] = {  # name: (float32, float64), in ulp
    "exp": (1.1, 1.0),
    "exp2": (1.0, 1.0),
    "expm1": (1.0, 1.0),
    "log": (1.0, 1.0),
    "log2": (1.3, 1.2),
    "log10": (1.2, 1.1),
    "log1p": (1.0, 1.0),
    "sin": (1.0, 1.0),
    "cos": (1.0, 1.0),
    "tan": (2.4, 1.0),
    "sinh": (1.0, 1.0),
    "cosh": (1.0, 1.0),
    "tanh": (1.4, 1.0),
    "asin": (1.0, 1.0),
    "acos": (1.0, 1.0),
    "atan": (1.0, 1.0),
    "atan2": (1.0, 1.0),
    "asinh": (1.2, 1.1),
    "acosh": (1.2, 1.1),
    "atanh": (1.2, 1.1),
    "cbrt": (0.8, 0.6),
    "hypot": (0.6, 1.1),
    "pow": (1.0, 1.0),
}

UFUNCS: Mapping[str, np.ufunc] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "hypot": np.hypot,
    "pow": np.power,
}

# where each function is dense in interest: results that are neither constant nor infinite
_RANGES: Mapping[str, tuple[float, float]] = {
    "exp": (-746, 710),
    "exp2": (-1076, 1025),
    "expm1": (-40, 710),
    "log": (0, 4),
    "log2": (0, 4),
    "log10": (0, 4),
    "log1p": (-1, 4),
    "sin": (-50, 50),
    "cos": (-50, 50),
    "tan": (-50, 50),
    "sinh": (-711, 711),
    "cosh": (-711, 711),
    "tanh": (-22, 22),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": (-10, 10),
    "asinh": (-10, 10),
    "acosh": (1, 10),
    "atanh": (-1, 1),
    "cbrt": (-10, 10),
}
_SHRINK = {"exp": 0.14, "exp2": 0.14, "expm1": 0.126, "sinh": 0.126, "cosh": 0.126, "tanh": 0.5}
_DOMAIN = {"log": 0.0, "log2": 0.0, "log10": 0.0, "acosh": 1.0}


def any_floats(rng: np.random.Generator, dtype: str, count: int) -> NDArray[np.floating]:
    """Floats of every exponent and sign, denormals included: random bits, finite ones kept."""
    bits = rng.integers(0, 2 ** (8 * int(dtype[1:])), count, dtype=f"u{dtype[1:]}")
    values = bits.view(dtype)
    return values[np.isfinite(values)]


def _near(
    rng: np.random.Generator, centers: NDArray[np.floating], dtype: str, count: int
) -> NDArray[np.floating]:
    """Points a few ulps from the centers."""
    picks = rng.choice(centers, count).astype(dtype)
    steps = rng.integers(-6, 7, count)
    signed = f"i{dtype[1:]}"
    return (picks.view(signed) + steps.astype(signed)).view(dtype)


def points(name: str, dtype: str, count: int, seed: int = 0) -> Points:
    """Operands for `name`: dense range, all magnitudes, near 0 and 1, near multiples of pi/2,
    thresholds.
    """
    rng = np.random.default_rng(seed)
    if name in ("atan2", "hypot", "pow"):
        return _pairs(rng, name, dtype, count)
    low, high = _RANGES[name]
    shrink = _SHRINK.get(name, 1.0) if dtype == "f4" else 1.0
    part = count // 5
    limit = 2.0**17 if dtype == "f4" else 2.0**31
    multiples = np.arange(1, 20001) * np.longdouble(np.pi) / 2 * rng.choice([-1, 1], 20000)
    some = [
        rng.uniform(low * shrink, high * shrink, part),
        any_floats(rng, dtype, part),
        rng.choice([-1, 1], part) * 2.0 ** rng.uniform(-30, 5, part),
        1 + rng.choice([-1, 1], part) * 2.0 ** rng.uniform(-55, -1, part),
        _near(rng, multiples, dtype, part // 2),
        rng.uniform(-limit, limit, part // 2),
    ]
    return (_inside(name, np.concatenate([values.astype(dtype) for values in some])),)


def _inside(name: str, values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Keep what the function is real on."""
    if name in _DOMAIN:
        values = np.abs(values)
        return values[values > _DOMAIN[name]]
    if name in ("asin", "acos", "atanh"):
        return values[np.abs(values) <= (1 if name != "atanh" else np.nextafter(1, 0))]
    return values[values > -1] if name == "log1p" else values


def _pairs(rng: np.random.Generator, name: str, dtype: str, count: int) -> Points:
    third = count // 3
    if name != "pow":
        x, y = any_floats(rng, dtype, third), any_floats(rng, dtype, third)
        size = min(x.size, y.size)
        wide = rng.uniform(-5, 5, (2, third)).astype(dtype)
        ratio = (wide[0] * 2.0 ** rng.uniform(-30, 30, third)).astype(dtype)
        return (
            np.concatenate([x[:size], wide[0], ratio]),
            np.concatenate([y[:size], wide[1], wide[1]]),
        )
    top = 745.0 if dtype == "f8" else 103.9
    x = np.abs(
        np.concatenate(
            [
                any_floats(rng, dtype, third),
                1 + 2.0 ** rng.uniform(-40, 0, third),
                rng.uniform(0.3, 3, third),
            ]
        ).astype(dtype)
    )
    x = x[(x > 0) & (x != 1)]
    target = rng.uniform(-top, top, x.size)
    y = (target / np.log(x.astype("f8"))).astype(dtype)
    return x, y


def reference(name: str, operands: Points) -> NDArray[np.longdouble]:
    with np.errstate(all="ignore"):
        return UFUNCS[name](*(operand.astype(np.longdouble) for operand in operands))


def ulps(actual: NDArray[np.floating], expected: NDArray[np.longdouble]) -> NDArray[np.float64]:
    """The distance in units in the last place of the expected value, in the dtype of `actual`."""
    info = np.finfo(actual.dtype)
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(expected)
        unit = np.ldexp(np.longdouble(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
        limit = np.ldexp(np.longdouble(1), info.maxexp)
        wide = np.clip(actual.astype(np.longdouble), -limit, limit)
        error = np.abs(wide - np.clip(expected, -limit, limit)) / unit
    both_nan = np.isnan(actual) & np.isnan(expected)
    error = np.where(both_nan, 0, error)
    return np.where(np.isnan(error), np.inf, error).astype("f8")


def measure(
    name: str,
    dtype: str,
    count: int,
    *,
    lanes: int = 8,
    seed: int = 0,
    function: Callable[..., NDArray[np.floating]] | None = None,
) -> tuple[float, tuple[float, ...]]:
    """The largest error of `name` in ulp, and where it is; of `function` when it is given."""
    operands = points(name, dtype, count, seed)
    call = function or compile_function(name, dtype, lanes=lanes, arity=len(operands))
    with np.errstate(all="ignore"):
        error = ulps(call(*operands), reference(name, operands))
    worst = int(np.argmax(error))
    return float(error[worst]), tuple(float(operand[worst]) for operand in operands)
