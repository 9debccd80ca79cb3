"""asin, acos, atan, atan2 and asinh, acosh, atanh.

Source of the formulas: FDLIBM e_asin.c, s_atan.c, s_asinh.c, e_acosh.c, e_atanh.c; each square
root and quotient is carried as a pair. atan uses one division: t = y/x, (y - x)/(y + x) or -x/y,
whichever has |t| <= tan(pi/8). Coefficients: scripts/minimax.
"""

from __future__ import annotations

import math

from lazyfuse.backends.cpu.vecmath.coefficients import ASIN, ATAN
from lazyfuse.backends.cpu.vecmath.doubles import (
    Pair,
    about_inverse,
    absolute,
    copysign,
    divide,
    fast_two_sum,
    fma_exact,
    is_nan,
    multiply,
    polynomial,
    root,
    two_product,
    two_sum,
)
from lazyfuse.backends.cpu.vecmath.formats import FORMATS
from lazyfuse.backends.cpu.vecmath.logarithm import log_of_pair
from lazyfuse.ops.body import Value, bitcast, fma, select

_TAN_LOW, _TAN_HIGH = math.sqrt(2.0) - 1.0, math.sqrt(2.0) + 1.0  # tan(pi/8), tan(3 pi/8)


def _asin_parts(x: Value) -> tuple[Value, Value, Value]:
    """(is_large, a, rest): asin|x| = a + rest when |x| <= 1/2; else pi/2 - 2 (a + rest)."""
    size = absolute(x)
    is_large = size > 0.5
    z = select(is_large, fma(size, -0.5, 0.5), size * size)
    s = z.unary("sqrt")
    s_low = fma_exact(-s, s, z) * about_inverse(s + s)
    a = select(is_large, s, size)
    rest = fma(a * z, polynomial(z, ASIN[x.dtype]), select(is_large, s_low, 0.0))
    return is_large, a, rest


def _less_twice(number: float, a: Value) -> Pair:
    """number - 2a exactly; number >= 2a >= 0."""
    total = fma(a, -2.0, number)
    return Pair(total, fma(a, -2.0, number - total))


def asin(x: Value) -> Value:
    half_pi = FORMATS[x.dtype].half_pi
    is_large, a, rest = _asin_parts(x)
    total = _less_twice(half_pi[0], a)
    large = total.hi + (total.lo + fma(rest, -2.0, half_pi[1]))
    return copysign(select(is_large, large, a + rest), x)


def acos(x: Value) -> Value:
    """pi/2 - asin(x) when |x| <= 1/2; 2 (a + rest), or pi - that, otherwise."""
    form = FORMATS[x.dtype]
    is_large, a, rest = _asin_parts(x)
    is_negative = x < 0.0
    small = fast_two_sum(form.half_pi[0], copysign(a, -x))
    small_value = small.hi + (small.lo + (copysign(rest, -x) + form.half_pi[1]))
    flipped = _less_twice(form.pi[0], a)
    negative = flipped.hi + (flipped.lo + fma(rest, -2.0, form.pi[1]))
    large = select(is_negative, negative, 2.0 * (a + rest))
    return select(is_large, large, small_value)


def _angle(y: Pair, x: Pair, base: Pair) -> Pair:
    """base + atan(y/x) as a pair, |y/x| <= tan(pi/8)."""
    inverse = about_inverse(x.hi)
    t = y.hi / x.hi
    rest = fma_exact(-t, x.hi, y.hi) + fma(-t, x.lo, y.lo)
    z = t * t
    tail = fma(t * z, polynomial(z, ATAN[t.dtype]), fma(rest, inverse, base.lo))
    total = fast_two_sum(base.hi, t)
    return Pair(total.hi, total.lo + tail)


def _first_quadrant(y: Value, x: Value) -> Pair:
    """atan(y/x) in [0, pi/2] as a pair, for y, x >= 0, finite, not both 0, their sum in range."""
    form = FORMATS[x.dtype]
    is_low, is_middle = y <= _TAN_LOW * x, y <= _TAN_HIGH * x

    def pick(low: Value | float, middle: Value | float, high: Value | float) -> Value:
        return select(is_low, x.lift(low), select(is_middle, x.lift(middle), high))

    difference, total = two_sum(y, -x), two_sum(y, x)
    numerator = Pair(pick(y, difference.hi, -x), pick(0.0, difference.lo, 0.0))
    denominator = Pair(pick(x, total.hi, y), pick(0.0, total.lo, 0.0))
    base = Pair(
        pick(0.0, form.quarter_pi[0], form.half_pi[0]),
        pick(0.0, form.quarter_pi[1], form.half_pi[1]),
    )
    return _angle(numerator, denominator, base)


def atan(x: Value) -> Value:
    size = absolute(x)
    limit = 2.0 ** (FORMATS[x.dtype].bias - 1)
    size = select(size > limit, limit, size)
    angle = _first_quadrant(size, x.body.const(1.0, x.dtype))
    return copysign(angle.hi + angle.lo, x)


def atan2(y: Value, x: Value) -> Value:
    is_origin = x.eq(0.0) & y.eq(0.0)  # 0/0 would raise flags
    above, right = _scaled(absolute(y), select(is_origin, 1.0, absolute(x)))
    angle = _first_quadrant(above, right)
    is_zero = y.eq(0.0)
    hi, lo = select(is_zero, 0.0, angle.hi), select(is_zero, 0.0, angle.lo)
    return select(is_nan(x) | is_nan(y), x + y, _in_quadrant(Pair(hi, lo), y, x))


def atan2_of_usual(y: Value, x: Value) -> Value:
    """`atan2` where the larger of both needs no scaling, or both are 0; elsewhere that itself."""
    form = FORMATS[x.dtype]
    low, high = ((form.bias + sign * (form.bias // 4)) << form.mantissa for sign in (-1, 1))
    sizes = absolute(y), absolute(x)
    bits = [bitcast(size, form.unsigned) for size in sizes]
    largest = select(bits[0] > bits[1], *bits)  # NaN is above all
    is_usual = largest - low <= high - low
    above, right = (select(is_usual, *each) for each in zip(sizes, (0.0, 1.0), strict=True))
    common = _in_quadrant(_first_quadrant(above, right), y, x)
    is_rare = ~is_usual & largest.ne(0)
    return x.body.emit("rare", x.dtype, is_rare, common, y, x, attr="atan2")


def _in_quadrant(angle: Pair, y: Value, x: Value) -> Value:
    """The angle of (x, y) from that of (|x|, |y|)."""
    pi = FORMATS[x.dtype].pi
    flipped = fast_two_sum(pi[0], -angle.hi)
    is_left = bitcast(x, FORMATS[x.dtype].signed) < 0
    low = select(is_left, flipped.lo + (pi[1] - angle.lo), angle.lo)
    return copysign(select(is_left, flipped.hi, angle.hi) + low, y)


def _scaled(y: Value, x: Value) -> tuple[Value, Value]:
    """Move both by one power of two to where sums and inverses are safe; infinite ones become 1,
    finite 0.
    """
    form = FORMATS[x.dtype]
    step, limit = form.bias // 4, 2.0 ** (form.bias - 3)
    largest = select(y > x, y, x)
    one, zero = x.body.const(1.0, x.dtype), x.body.const(0.0, x.dtype)
    up = select(largest < 2.0**-step, 2.0 ** (2 * step), one)
    scale = select(largest > limit, 2.0**-step, up)
    is_infinite = largest.eq(math.inf)

    def scaled(value: Value) -> Value:
        return select(is_infinite, select(value.eq(math.inf), one, zero), value * scale)

    return scaled(y), scaled(x)


def asinh(x: Value) -> Value:
    """log1p(a + a*a/(1 + sqrt(1 + a*a))), a = |x|; log(2a) when 1 is lost beside a*a."""
    form = FORMATS[x.dtype]
    size = absolute(x)
    is_large = size > 2.0 ** (form.mantissa // 2 + 3)
    a = select(is_large, 1.0, size)
    square = two_product(a, a)
    above_one = two_sum(1.0, square.hi)
    length = root(Pair(above_one.hi, above_one.lo + square.lo))
    denominator = two_sum(1.0, length.hi)
    extra = divide(square, Pair(denominator.hi, denominator.lo + length.lo))
    argument = _one_plus(a, extra)
    return copysign(_log_or_doubled(size, is_large, argument), x)


def _one_plus(a: Value, b: Pair) -> Pair:
    """1 + a + b as a pair whose low part keeps what is far below 1."""
    first = two_sum(a, b.hi)
    second = two_sum(1.0, first.hi)
    return Pair(second.hi, second.lo + (first.lo + b.lo))


def _log_or_doubled(size: Value, is_large: Value, argument: Pair) -> Value:
    """log(argument), or log(2 size) where `is_large`."""
    chosen = Pair(select(is_large, size, argument.hi), select(is_large, 0.0, argument.lo))
    result = log_of_pair(chosen, select(is_large, 1.0, size.body.const(0.0, size.dtype)))
    tiny = FORMATS[size.dtype].epsilon
    result = select(size < tiny, size, result)
    return select(size < math.inf, result, size)


def acosh(x: Value) -> Value:
    """log1p(t + sqrt(t*(x + 1))) with t = x - 1, x >= 1."""
    form = FORMATS[x.dtype]
    is_large = x > 2.0 ** (form.mantissa // 2 + 3)
    safe = select(is_large, 2.0, x)
    t = two_sum(safe, x.body.const(-1.0, x.dtype))
    square = multiply(t, two_sum(safe, x.body.const(1.0, x.dtype)))
    is_one = x.eq(1.0)  # 0/0 would raise flags
    length = root(Pair(select(is_one, 1.0, square.hi), square.lo))
    length = Pair(select(is_one, 0.0, length.hi), select(t.hi > 0.0, length.lo, 0.0))
    first = two_sum(t.hi, length.hi)
    second = two_sum(1.0, first.hi)
    argument = Pair(second.hi, second.lo + (first.lo + (t.lo + length.lo)))
    result = _log_or_doubled(x, is_large, argument)
    return select(x < 1.0, math.nan, result)


def atanh(x: Value) -> Value:
    """log1p(2a/(1 - a))/2, a = |x|."""
    form = FORMATS[x.dtype]
    a = absolute(x)
    is_inside = a < 1.0
    safe = select(is_inside, a, 0.5)
    ratio = divide(Pair(2.0 * safe, safe.body.const(0.0, safe.dtype)), two_sum(1.0, -safe))
    argument = _one_plus(ratio.hi, Pair(ratio.lo, safe.body.const(0.0, safe.dtype)))
    result = 0.5 * log_of_pair(argument)
    result = select(a < form.epsilon, a, result)
    outside = select(a.eq(1.0), math.inf, a.body.const(math.nan, a.dtype))
    return copysign(select(is_inside, result, outside), x)
