"""Integers divided by one number: a product with its reciprocal instead of a division for each.

Unsigned ones of N = 8 or 16 bits, in integers: with 2^(l-1) < y <= 2^l, the reciprocal 2^(N+l)/y,
rounded down and one added, has N + 1 bits, of which the first is 1: x is added for that one.
Source: Granlund and Montgomery, Division by invariant integers using multiplication, 1994,
figure 4.1.

Others up to 32 bits, in floats of p bits: 24 for 16, 53 for 32. Signed ones: floor(x / y) is
floor((x + 1/2) / y) for positive y, which lies at least 1/(2y) away from every integer, and
rounding moves it by less than |x / y| * 2^(3 - p). A negative y takes away the half. Unsigned
ones: the reciprocal is made larger by 2^(4 - p) of itself, more than rounding takes away, so no
multiple of y falls below its quotient; nothing else reaches the next integer, 1/y away, as long
as x < 2^(p - 5).

64 bits: float64 gives a quotient that is off by up to 2^12, whose remainder is exact (integers
wrap), and divided again it is off by one at most, which the remainder tells. Unsigned ones are
halved before, and the last bit follows.
"""

from __future__ import annotations

from lazyfuse.ops.body import Value, bitcast, cast, flag, select
from lazyfuse.ops.float_flags import DIVIDE, OVERFLOW

#: 1 + 2^(4 - p).
_LARGER = {"f4": 1.0 + 2.0**-20, "f8": 1.0 + 2.0**-49}
#: The largest float64 that fits i8.
_MOST = float((1 << 63) - (1 << 10))


def floor_divide_by_number(x: Value, y: Value) -> Value:
    """As `composite.int_floor_divide`, where y is the same for all x: what depends on y alone is
    computed once."""
    divisor = _number(y)
    quotient = quotient_by_number(x, divisor)
    if x.kind == "u":
        return select(y.eq(0), x.lift(0), quotient)
    wraps = y.eq(-1) & x.eq(-(1 << (x.bits - 1)))
    return flag(select(y.eq(0), x.lift(0), select(y.eq(-1), -x, quotient)), wraps, OVERFLOW)


def remainder_by_number(x: Value, y: Value) -> Value:
    """As `composite.int_remainder`, where y is the same for all x."""
    divisor = _number(y)
    return x - quotient_by_number(x, divisor) * divisor


def _number(y: Value) -> Value:
    """A divisor that is neither 0, which is told, nor -1: 1 in their place."""
    trivial = y.eq(0) if y.kind == "u" else y.eq(0) | y.eq(-1)
    return flag(select(trivial, y.lift(1), y), y.eq(0), DIVIDE)


def quotient_by_number(x: Value, y: Value) -> Value:
    """floor(x / y); y is neither 0 nor -1."""
    if x.bits == 64:
        return _of_unsigned(x, y) if x.kind == "u" else _of_signed(x, y)
    if x.kind == "u" and x.bits <= 16:
        return _of_short(x, y)
    wide = "f4" if x.bits <= 16 else "f8"
    divisor, dividend = cast(y, wide), cast(x, wide)
    if x.kind == "u":
        return cast(dividend * (1.0 / divisor * _LARGER[wide]), x.dtype)
    half = divisor.lift(0.5).binary("copysign", divisor)
    return cast(((dividend + half) * (1.0 / divisor)).unary("floor"), x.dtype)


def _of_short(x: Value, y: Value) -> Value:
    divisor = cast(y, "u4")
    is_one, zero, one = divisor.eq(1), divisor.lift(0), divisor.lift(1)
    exponent = bitcast(cast(divisor - 1, "f4"), "u4") >> 23
    length = select(is_one, zero, exponent - 126)  # the l of above
    fraction = (((one << length) - divisor) << x.bits) / divisor
    before = select(is_one, zero, one)  # how far is shifted before the sum, which has room then
    factor, before, after = (cast(v, "u2") for v in (fraction + 1, before, length - before))
    value = cast(x, "u2")
    upper = value * factor >> 8 if x.bits == 8 else value.binary("mulhi", factor)
    return cast((upper + ((value - upper) >> before)) >> after, x.dtype)


def _of_signed(x: Value, y: Value) -> Value:
    inverse = 1.0 / cast(y, "f8")
    near = cast((cast(x, "f8") * inverse).binary("min", inverse.lift(_MOST)), "i8")
    rest = x - near * y
    more = cast((cast(rest, "f8") * inverse).unary("floor"), "i8")
    rest = rest - more * y
    negative = y < 0
    least, most = select(negative, y + 1, 0), select(negative, y.lift(0), y - 1)
    one = select(negative, y.lift(-1), 1)
    quotient = near + more + select(rest > most, one, 0)
    return quotient - select(rest < least, one, 0)


def _of_unsigned(x: Value, y: Value) -> Value:
    large = y >= 1 << 63
    small = select(large, y.lift(1), y)
    twice = cast(_of_signed(cast(x >> 1, "i8"), cast(small, "i8")), "u8") << 1
    quotient = twice + select(x - twice * small >= small, x.lift(1), 0)
    return select(large, select(x >= y, x.lift(1), 0), quotient)
