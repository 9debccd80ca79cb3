"""sinh, cosh, tanh: from exp or expm1 as a pair, by polynomials where terms would cancel.

Source of the formulas: FDLIBM e_sinh.c, e_cosh.c, s_tanh.c. Coefficients: scripts/minimax.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyfuse.backends.cpu.vecmath.coefficients import SINH, TANH
from lazyfuse.backends.cpu.vecmath.doubles import (
    Pair,
    absolute,
    clamp,
    copysign,
    divide,
    fast_two_sum,
    polynomial,
)
from lazyfuse.backends.cpu.vecmath.exponential import (
    exp,
    quarter_exp,
    quarter_exp_by_table,
    quarter_expm1,
)
from lazyfuse.backends.cpu.vecmath.formats import FORMATS
from lazyfuse.ops.body import Value, fma, select


def sinh(x: Value) -> Value:
    return _sinh(x, quarter_exp)


def cosh(x: Value) -> Value:
    return _cosh(x, quarter_exp)


def sinh_by_table(x: Value) -> Value:
    """float64."""
    return _sinh(x, quarter_exp_by_table)


def cosh_by_table(x: Value) -> Value:
    """float64."""
    return _cosh(x, quarter_exp_by_table)


def _sinh(x: Value, quarter: Callable[[Value], Pair]) -> Value:
    """With c = exp|x|/4: sinh/2 = c - 1/(16 c); an odd polynomial for |x| < 1."""
    size = absolute(x)
    c = quarter(clamp(size, 0.0, FORMATS[x.dtype].exp_high))
    total = fast_two_sum(c.hi, -0.0625 / c.hi)
    large = 2.0 * (total.hi + (total.lo + c.lo))
    z = size * size
    small = fma(size * z, polynomial(z, SINH[x.dtype]), size)
    return copysign(select(size < 1.0, small, large), x)


def _cosh(x: Value, quarter: Callable[[Value], Pair]) -> Value:
    """With c = exp|x|/4: cosh/2 = c + 1/(16 c)."""
    c = quarter(clamp(absolute(x), 0.0, FORMATS[x.dtype].exp_high))
    return 2.0 * (c.hi + (c.lo + 0.0625 / c.hi))


def tanh(x: Value) -> Value:
    form = FORMATS[x.dtype]
    size = absolute(x)
    value = _tanh_short if x.dtype == "f4" else _tanh_pair
    return copysign(value(size, form.tanh_high), x)


def _tanh_short(size: Value, high: float) -> Value:
    """float32: 1 - 2/(exp(2|x|) + 1), or an odd polynomial for |x| < 0.6. Neither may overflow:
    in float16, that would look like the cast of the result."""
    half = clamp(size, 0.0, high)
    large = 1.0 - 2.0 / (exp(half + half) + 1.0)
    z = half * half
    small = fma(half * z, polynomial(z, TANH["f4"]), half)
    return select(size < 0.6, small, large)


def _tanh_pair(size: Value, high: float) -> Value:
    """E/(E + 2) with E = expm1(2|x|); with q = E/4: q/(q + 0.5)."""
    half = clamp(size, 0.0, high)
    q = quarter_expm1(half + half)
    is_above = q.hi > 0.5
    large, small = select(is_above, q.hi, 0.5), select(is_above, 0.5, q.hi)
    total = fast_two_sum(large, small)
    ratio = divide(q, Pair(total.hi, total.lo + q.lo))
    return select(size < FORMATS[size.dtype].epsilon, size, ratio.hi + ratio.lo)
