"""pow, cbrt, hypot. float32 pow and hypot are computed in float64 and rounded once.

pow is exp(y log|x|); for float64 the logarithm is a pair of relative error near 2**-65. Special
values are those of C99 Annex F. Source of the scheme: SLEEF pow (u10) and Muller et al., Handbook
of Floating-Point Arithmetic. Coefficients: scripts/minimax.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from lazyfuse.backends.cpu.vecmath.coefficients import (
    EXP2_LEAN,
    INVERSE_CBRT,
    LOG2_LEAN,
    LOG_DOUBLED,
)
from lazyfuse.backends.cpu.vecmath.doubles import (
    Pair,
    absolute,
    clamp,
    copysign,
    divide,
    fast_two_sum,
    fma_exact,
    from_bits,
    is_nan,
    multiply,
    polynomial,
    two_product,
)
from lazyfuse.backends.cpu.vecmath.exponential import (
    exp_pair,
    exp_pair_by_table,
    power_of_two,
    round_by_shift,
)
from lazyfuse.backends.cpu.vecmath.formats import FORMATS, split
from lazyfuse.backends.cpu.vecmath.logarithm import split_any, split_exponent
from lazyfuse.ops.body import Value, bitcast, cast, fma, select

_TWO_THIRDS = split(Fraction(2, 3), "f8", 2)


def power(x: Value, y: Value) -> Value:
    return _pow_lean(x, y) if x.dtype == "f4" else _pow_pair(x, y, exp_pair)


def power_by_table(x: Value, y: Value) -> Value:
    """float64."""
    return _pow_pair(x, y, exp_pair_by_table)


def log_doubled(x: Value) -> Pair:
    """log(x) as a pair, relative error about 2**-65, for float64 x > 0."""
    form = FORMATS["f8"]
    k, m = split_any(x)
    f = m - 1.0
    s = divide(Pair(f, f.body.const(0.0, "f8")), fast_two_sum(2.0, f))
    z = multiply(s, s)
    head = fast_two_sum(_TWO_THIRDS[0], z.hi * polynomial(z.hi, LOG_DOUBLED["f8"]))
    tail = multiply(multiply(s, z), Pair(head.hi, head.lo + _TWO_THIRDS[1]))
    first = fast_two_sum(k * form.ln2_short[0], s.hi + s.hi)
    second = fast_two_sum(first.hi, tail.hi)
    small = fma(s.lo, 2.0, fma(k, form.ln2_short[1], tail.lo))
    return fast_two_sum(second.hi, first.lo + second.lo + small)


def _pow_pair(x: Value, y: Value, exp: Callable[[Pair], Value]) -> Value:
    """exp(y log|x|), the logarithm as a pair."""
    log = log_doubled(_plain(x))
    bounded = clamp(y, -(2.0**65), 2.0**65)  # the smallest |log x| but 0 is 2**-53
    product = two_product(log.hi, bounded)
    result = exp(Pair(product.hi, fma(log.lo, bounded, product.lo)))
    form = FORMATS[x.dtype]
    result = select(product.hi > form.exp_high, math.inf, result)
    result = select(product.hi < form.exp_low, 0.0, result)
    return _with_sign(x, y, _at_edges(x, y, result))


def _pow_lean(x: Value, y: Value) -> Value:
    """float32: 2**(y log2|x|) in float64 with short polynomials, about 2**-31 relative, rounded
    once.
    """
    k, m = split_exponent(cast(_plain(x), "f8"))
    f = m - 1.0
    s = f / (2.0 + f)
    log = fma(s, polynomial(s * s, LOG2_LEAN["f8"]), k)
    product = clamp(log * cast(clamp(y, -(2.0**65), 2.0**65), "f8"), -300.0, 300.0)
    n, bits = round_by_shift(product, 1.0)
    r = product - n
    value = fma(r, polynomial(r, EXP2_LEAN["f8"]), 1.0)
    result = cast(value * power_of_two(bits, "f8"), "f4")
    return _with_sign(x, y, _at_edges(x, y, result))


def _plain(x: Value) -> Value:
    """|x|, but 1 for 0, infinity and NaN: their logarithms would raise flags on the way."""
    return select(_is_plain(x), absolute(x), 1.0)


def _is_plain(x: Value) -> Value:
    size = absolute(x)
    return (size > 0.0) & (size < math.inf)


def _at_edges(x: Value, y: Value, result: Value) -> Value:
    """The power of |x| for 0 and infinity, which is one of both, and NaN."""
    edge = select((absolute(x) > 0.0) ^ (y < 0.0), result.lift(math.inf), 0.0)
    edge = select(x.eq(x) & y.eq(y), edge, math.nan)
    return select(_is_plain(x), result, edge)


def _with_sign(x: Value, y: Value, result: Value) -> Value:
    """The sign, NaN and the ones of C99 F.9.4.4, from the power of |x|."""
    half = 0.5 * y
    is_integer = y.unary("rint").eq(y)
    is_odd = is_integer & half.unary("rint").ne(half)
    result = select(is_odd, copysign(result, x), result)
    is_imaginary = (x < 0.0) & (x > -math.inf) & ~is_integer
    result = select(is_imaginary, math.nan, result)
    return select(x.eq(1.0) | y.eq(0.0), 1.0, result)


def cbrt(x: Value) -> Value:
    """x = a * 2**(3k), 1 <= a < 8: y = 1/cbrt(a) by a quartic and Newton, t = a*y*y, and t once
    more with t**3 exact.
    """
    form = FORMATS[x.dtype]
    size = absolute(x)
    step = 3 * (form.mantissa // 3 + 1)
    is_small = size < form.min_normal
    bits = bitcast(select(is_small, size * 2.0**step, size), form.unsigned)
    shifted = (form.mantissa + form.bias) << form.mantissa
    exponent = from_bits((bits >> form.mantissa) | shifted) - float(2**form.mantissa + form.bias)
    k, k_bits = round_by_shift(exponent - 1.0, 1.0 / 3.0)
    m = from_bits((bits & ((1 << form.mantissa) - 1)) | form.one_bits)
    t = _cube_root(m, fma(k, -3.0, exponent))
    t = from_bits(bitcast(t, form.unsigned) + (k_bits << form.mantissa))
    t = select(is_small, t * 2.0 ** (-step // 3), t)
    is_plain = (size < math.inf) & size.ne(0.0)
    return copysign(select(is_plain, t, size), x)


def _cube_root(m: Value, j: Value) -> Value:
    """cbrt(m * 2**j) for 1 <= m < 2 and j in {0, 1, 2}."""
    is_one, is_two = j.eq(1.0), j.eq(2.0)
    one = m.body.const(1.0, m.dtype)
    a = m * select(is_two, 4.0, select(is_one, 2.0, one))
    start = select(is_two, 2.0 ** (-2 / 3), select(is_one, 2.0 ** (-1 / 3), one))
    y = start * polynomial(m, INVERSE_CBRT[m.dtype])
    if m.dtype == "f8":  # from 2**-17 to 2**-33
        y = fma(y * (1.0 / 3.0), fma(-a * y, y * y, 1.0), y)
    t = a * y * y
    square = two_product(t, t)
    excess = fma(square.lo, t, fma_exact(square.hi, t, -a))
    return fma(excess * (y * y), -1.0 / 3.0, t)


def hypot(x: Value, y: Value) -> Value:
    if x.dtype == "f4":
        wide_x, wide_y = cast(x, "f8"), cast(y, "f8")
        result = cast(fma(wide_x, wide_x, wide_y * wide_y).unary("sqrt"), "f4")
    else:
        result = _scaled_hypot(x, y)
    is_infinite = absolute(x).eq(math.inf) | absolute(y).eq(math.inf)
    return select(is_infinite, math.inf, result)


def _scaled_hypot(x: Value, y: Value) -> Value:
    first, second = absolute(x), absolute(y)
    is_above = (second > first) | is_nan(first)  # beside NaN the other is scaled: no flags
    a, b = select(is_above, second, first), select(is_above, first, second)
    is_large, is_small = a > 2.0**500, a < 2.0**-450
    one = a.body.const(1.0, a.dtype)
    scale = select(is_large, 2.0**-600, select(is_small, 2.0**600, one))
    back = select(is_large, 2.0**600, select(is_small, 2.0**-600, one))
    a, b = a * scale, b * scale
    total = fma(a, a, b * b)
    return back * total.unary("sqrt")
