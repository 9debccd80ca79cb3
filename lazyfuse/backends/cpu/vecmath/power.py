"""pow, cbrt, hypot. float32 hypot, and pow without tables, are computed in float64 and rounded
once.

pow is exp(y log|x|); the logarithm is a pair, for float64 of relative error near 2**-65. Special
values are those of C99 Annex F. Source of the scheme: SLEEF pow (u10) and Muller et al., Handbook
of Floating-Point Arithmetic. Coefficients: scripts/minimax.

Where a table of 16 numbers is looked into by one instruction, so is the inverse of the mantissa,
in so few bits that what is left is exact (after Tang 1990), and what x <= 0, infinity and NaN ask
for stands behind a branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from lazyfuse.backends.cpu.vecmath.coefficients import (
    EXP2_LEAN,
    INVERSE_CBRT,
    LOG2_LEAN,
    LOG_CUBE,
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
    lookup,
    multiply,
    polynomial,
    two_product,
)
from lazyfuse.backends.cpu.vecmath.exponential import (
    exp_pair,
    exp_pair_by_table,
    exp_short_pair,
    power_of_two,
    round_by_shift,
    within,
)
from lazyfuse.backends.cpu.vecmath.formats import FORMATS, split
from lazyfuse.backends.cpu.vecmath.logarithm import (
    bounded,
    split_any,
    split_exponent,
    split_from_one,
)
from lazyfuse.ops.body import Value, bitcast, cast, fma, select
from lazyfuse.ops.float_flags import DIVIDE, INVALID, OVERFLOW

_TWO_THIRDS = split(Fraction(2, 3), "f8", 2)


def power(x: Value, y: Value) -> Value:
    if x.dtype == "f4":
        result = _power_lean(x, y)
    else:
        result = _power_of_log(log_doubled(_plain(x)), y, exp_pair, clamp)
    return _with_sign(x, y, _at_edges(x, y, result))


def power_by_table(x: Value, y: Value) -> Value:
    """As `power` for positive finite x and numbers y; `power_edges` for others."""
    exp = exp_short_pair if x.dtype == "f4" else exp_pair_by_table
    common = _power_of_log(log_by_short_table(x), y, exp, within)
    is_rare = ~_is_usual(x) | is_nan(y)
    return x.body.emit("rare", x.dtype, is_rare, common, x, y, attr="power_edges")


def power_edges(common: Value, x: Value, y: Value) -> Value:
    """The power from that of |x|, with its sign, its special values and their flags."""
    found = _with_sign(x, y, _at_edges(x, y, common))
    is_new = (absolute(x) < math.inf) & ~(absolute(found) < math.inf)
    return found.body.emit("flag", x.dtype, found, is_new, attr=DIVIDE | INVALID | OVERFLOW)


def _is_usual(x: Value) -> Value:
    """Whether it is positive and finite, by one comparison."""
    form = FORMATS[x.dtype]
    infinity = (2 * form.bias + 1) << form.mantissa
    return bitcast(x, form.unsigned) - 1 < infinity - 1


def _power_of_log(
    log: Pair, y: Value, exp: Callable[[Pair], Value], limit: Callable[..., Value]
) -> Value:
    """exp(y log), also where that overflows; `limit` limits the exponent."""
    form = FORMATS[y.dtype]
    limited = clamp(y, -(2.0**65), 2.0**65)  # the smallest |log x| but 0 is 2**-53
    product = two_product(log.hi, limited)
    rest = fma(log.lo, limited, product.lo)
    head = limit(product.hi, form.exp_low - 2.0, 1.3 * form.exp_high)
    return exp(Pair(head, clamp(rest, -1.0, 1.0)))


def log_by_short_table(x: Value) -> Pair:
    """log|x| as a pair of relative error 2**-63 (float32: 2**-34), and something far away where
    that is infinite.

    |x| = 2**k m; c near 1/m has so few bits that r = m c - 1 is exact, and log(1 + r) is
    r - r*r/2 and less.
    """
    form = FORMATS[x.dtype]
    k, m, place = _split_nearest(x)
    r = fma_exact(m, lookup(place, "SHORT_INVERSES", x.dtype), -1.0)
    near = _log1p_short(r)
    heads, rests = (f"SHORT_{name}_{x.dtype.upper()}" for name in ("HEADS", "RESTS"))
    total = fast_two_sum(fma(k, form.ln2_short[0], lookup(place, heads, x.dtype)), near.hi)
    tail = near.lo + fma(k, form.ln2_short[1], lookup(place, rests, x.dtype))
    return fast_two_sum(total.hi, total.lo + tail)


def _log1p_short(r: Value) -> Pair:
    """log(1 + r) for |r| < 3/64: r + r*r*(-1/2 + r/3) and less."""
    square = two_product(r, r)
    third, *rest = LOG_CUBE[r.dtype]
    factor = fma(r, third, -0.5)
    product = two_product(square.hi, factor)
    low = fma(square.hi, fma(r, third, -0.5 - factor), fma(square.lo, factor, product.lo))
    low = fma(square.hi * square.hi, polynomial(r, rest), low)
    total = fast_two_sum(r, product.hi)
    return Pair(total.hi, total.lo + low)


def _split_nearest(x: Value) -> tuple[Value, Value, Value]:
    """k and m of |x| = 2**k m and, as the last four bits of a word, j, where m is next to 1 + j/16
    and j is less than 16."""
    form = FORMATS[x.dtype]
    size = absolute(x)
    k, m = split_from_one(x, select(_is_usual(size), size, 1.0))
    k, bits = bounded(k), bitcast(m, form.unsigned)
    moved = bits + (1 << form.mantissa - 5)
    power = moved & ~((1 << form.mantissa) - 1)  # of 1 or, next to 2, of 2
    return (
        k + (from_bits(power) - 1.0),
        from_bits(bits + form.one_bits - power),
        moved >> (form.mantissa - 4),
    )


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


def _power_lean(x: Value, y: Value) -> Value:
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
    return cast(value * power_of_two(bits, "f8"), "f4")


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
    j = fma(k, -3.0, exponent)
    is_one, is_two = j.eq(1.0), j.eq(2.0)
    one = m.body.const(1.0, m.dtype)
    a = m * select(is_two, 4.0, select(is_one, 2.0, one))
    start = select(is_two, 2.0 ** (-2 / 3), select(is_one, 2.0 ** (-1 / 3), one))
    t = _cube_root(a, start * polynomial(m, INVERSE_CBRT[m.dtype]))
    t = from_bits(bitcast(t, form.unsigned) + (k_bits << form.mantissa))
    t = select(is_small, t * 2.0 ** (-step // 3), t)
    is_plain = (size < math.inf) & size.ne(0.0)
    return copysign(select(is_plain, t, size), x)


def cbrt_by_table(x: Value) -> Value:
    """As `cbrt`, but 1/2 <= a < 4; 0, infinity and NaN are behind a branch."""
    form = FORMATS[x.dtype]
    size = absolute(x)
    is_usual = _is_usual(size)
    exponent, m = split_from_one(x, select(is_usual, size, 1.0))
    exponent = select(is_usual, exponent, 0.0)
    k, k_bits = round_by_shift(exponent, 1.0 / 3.0)
    j = bitcast(fma(k, -3.0, exponent) + form.shift, form.unsigned)
    a = m * lookup(j, "CBRT_POWERS", x.dtype)
    t = _cube_root(a, lookup(j, "CBRT_STARTS", x.dtype) * polynomial(m, INVERSE_CBRT[x.dtype]))
    common = copysign(from_bits(bitcast(t, form.unsigned) + (k_bits << form.mantissa)), x)
    return x.body.emit("rare", x.dtype, ~is_usual, common, x, attr="cbrt_edges")


def cbrt_edges(common: Value, x: Value) -> Value:
    """x where it is 0, infinite or NaN."""
    return select(_is_usual(absolute(x)), common, x)


def _cube_root(a: Value, y: Value) -> Value:
    """cbrt(a) from y, which is about 1/cbrt(a)."""
    if a.dtype == "f8":  # from 2**-17 to 2**-33
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
