"""Integers divided by one number: a product with its reciprocal instead of a division for each.

Unsigned ones of 8 or 16 bits, in integers of 16: with 2^p <= y < 2^(p+1), the reciprocal
2^(16+p)/y has 16 bits. Rounded up, it gives the quotient where it is larger by at most 2^p/y;
else rounded down, of x + 1, which stays at the largest x for that one. Source: Robison, N-bit
unsigned division via N-bit multiply-add, 2005. For 8 bits (2^16 - 1)/y, rounded down, and x + 1
do for all y.

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
    if x.kind == "u" and x.bits <= 16:
        return _of_short(x, flag(y, y.eq(0), DIVIDE))
    quotient = quotient_by_number(x, _number(y))
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
    """The quotient by 0 is 0."""
    divisor, value = cast(select(y.eq(0), y.lift(1), y), "u4"), cast(x, "u2")
    if x.bits == 8:
        factor = select(y.eq(0), divisor.lift(0), divisor.lift(0xFFFF) / divisor)
        return cast((value + 1).binary("mulhi", cast(factor, "u2")), x.dtype)
    shift = (bitcast(cast(divisor, "f4"), "u4") >> 23) - 127  # the p of above
    power = divisor.lift(1) << shift
    down = ((power << 16) - 1) / divisor
    rest = (power << 16) - down * divisor  # 1 to y: y for powers of two
    is_up = (rest < divisor) & (divisor - rest <= power)
    factor = select(y.eq(0), divisor.lift(0), select(is_up, down + 1, down))
    more = select(is_up, divisor.lift(0), divisor.lift(1))
    one, factor, shift = (cast(v, "u2") for v in (more, factor, shift))
    raised = select(value < ~one, value, ~one) + one  # saturates
    return select(y.eq(1), x, cast(raised.binary("mulhi", factor) >> shift, x.dtype))


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
