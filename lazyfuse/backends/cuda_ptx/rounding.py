"""Correctly rounded arithmetic that NumPy has no function for: fused multiply-add and directed
rounding.

The tool is rounding to odd: the sum of two float64 with the last bit set when it is inexact. Such
a sum can be rounded once more to a narrower type, in any direction, as if it had been exact.
Source: S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms
using rounding to odd", IEEE Transactions on Computers 57 (2008).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

#: Exponents between which every term of `_fma64` is exact.
_SAFE_LOW, _SAFE_HIGH = 2.0**-450, 2.0**450
_SPLITTER = 2.0**27 + 1


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum and its exact error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded product and its exact error (T. Dekker, 1971); far from over- and underflow."""
    product = a * b
    a_high, b_high = _high(a), _high(b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _high(x: np.ndarray) -> np.ndarray:
    scaled = _SPLITTER * x
    high: np.ndarray = scaled - (scaled - x)
    return high


def odd_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b in float64, rounded to odd."""
    total, error = two_sum(a, b)
    is_even = (total.view(np.int64) & 1) == 0
    moves = is_even & (error != 0) & np.isfinite(total)
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(moves, np.nextafter(total, toward), total)


def narrow(x: np.ndarray, dtype: np.dtype, mode: str) -> np.ndarray:
    """Round float64 to `dtype`: rn to nearest even, rz to zero, rm down, rp up."""
    near = x.astype(dtype)
    if mode == "rn":
        return near
    back = near.astype(np.float64)
    if mode == "rz":
        return np.where(np.abs(back) > np.abs(x), np.nextafter(near, dtype.type(0)), near)
    if mode == "rm":
        return np.where(back > x, np.nextafter(near, dtype.type(-np.inf)), near)
    assert mode == "rp", mode
    return np.where(back < x, np.nextafter(near, dtype.type(np.inf)), near)


def add(a: np.ndarray, b: np.ndarray, mode: str) -> np.ndarray:
    """a + b of float16 or float32, rounded once in direction `mode`."""
    wide = odd_sum(*np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64)))
    result = narrow(wide, a.dtype, mode)
    if mode == "rm":  # what cancels is -0 when rounding down
        is_zero = (wide == 0) & ~((a == 0) & (b == 0) & (np.signbit(a) == np.signbit(b)))
        result = np.where(is_zero, a.dtype.type(-0.0), result)
    return result


def multiply(a: np.ndarray, b: np.ndarray, mode: str) -> np.ndarray:
    """a * b of float16 or float32: exact in float64, then rounded once."""
    return narrow(a.astype(np.float64) * b.astype(np.float64), a.dtype, mode)


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray, mode: str = "rn") -> np.ndarray:
    """a * b + c with one rounding; float64 to nearest only."""
    a, b, c = np.broadcast_arrays(a, b, c)
    if a.dtype == np.float64:
        assert mode == "rn", mode
        return _fma64(a, b, c)
    product = a.astype(np.float64) * b.astype(np.float64)
    return narrow(odd_sum(product, c.astype(np.float64)), a.dtype, mode)


def _fma64(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    high, low = two_product(a, b)
    c_high, c_low = two_sum(low, c)
    v_high, v_low = two_sum(high, c_high)
    result: np.ndarray = v_high + odd_sum(c_low, v_low)
    is_plain = _is_plain(a, b, c)
    result = np.where(is_plain, a * b + c, result)
    for place in np.flatnonzero(~_is_safe(a, b, c) & ~is_plain):
        result[place] = _exact_fma(float(a[place]), float(b[place]), float(c[place]))
    return result


def _is_plain(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Where a factor is zero, or not all are finite: nothing is rounded twice."""
    plain: np.ndarray = (a == 0) | (b == 0) | ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
    return plain


def _is_safe(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    inside = [(np.abs(x) > _SAFE_LOW) & (np.abs(x) < _SAFE_HIGH) for x in (a, b, c)]
    safe: np.ndarray = inside[0] & inside[1] & (inside[2] | ((c == 0) & ~np.signbit(c)))
    return safe


def _exact_fma(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return 0.0
    sign = 1.0 if exact > 0 else -1.0
    try:
        return math.copysign(float(exact), sign)
    except OverflowError:
        return math.copysign(math.inf, sign)
