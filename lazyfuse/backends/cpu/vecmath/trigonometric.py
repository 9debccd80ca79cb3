"""sin, cos, tan: reduction by three-part pi/2 to a pair in [-pi/4, pi/4], minimax polynomials,
libm when it is huge.

Source of the kernels' form: FDLIBM k_sin.c, k_cos.c; of the reduction: Cody and Waite with a fused
multiply-add, as in Muller et al., Handbook of Floating-Point Arithmetic. Coefficients:
scripts/minimax.

Where choosing between two values is one instruction, and of a unit that does not multiply, lanes
choose the coefficients of sine or cosine instead of computing both.
"""

from __future__ import annotations

from typing import NamedTuple

from lazyfuse.backends.cpu.vecmath.coefficients import COS, SIN
from lazyfuse.backends.cpu.vecmath.doubles import (
    Pair,
    absolute,
    divide,
    fast_two_sum,
    fma_exact,
    from_bits,
    polynomial,
)
from lazyfuse.backends.cpu.vecmath.exponential import round_by_shift
from lazyfuse.backends.cpu.vecmath.formats import FORMATS
from lazyfuse.ops.body import Value, bitcast, fma, select


class Reduced(NamedTuple):
    """x = quadrant * pi/2 + (r.hi + r.lo); with z = r.hi**2."""

    quadrant: Value
    r: Pair
    z: Value


def reduce(x: Value, ahead: int = 0) -> Reduced:
    """Reduce |x| <= trig_limit; the quadrant is `ahead` more.

    x - q*P1 is exact, and a multiple of an ulp of q*P2, so `fast_two_sum` may follow.
    """
    first, second, third = FORMATS[x.dtype].half_pi_parts
    q, quadrant = round_by_shift(x, 1.0 / first, ahead)
    head = fma_exact(q, -first, x)
    middle = q * second
    middle_low = fma_exact(q, second, -middle)
    high, lost = fast_two_sum(head, -middle)
    return Reduced(quadrant, Pair(high, fma(q, -third, lost - middle_low)), high * high)


def _halved(z: Value) -> Pair:
    """z/2 - 1 rounded, and what it is less than that, exactly."""
    less_one = fma(z, 0.5, -1.0)
    return Pair(less_one, fma(z, 0.5, -1.0 - less_one))


def sin_rest(reduced: Reduced) -> Value:
    """r.hi - sin(r). It is 0, not -0, for -0, which hi less it keeps."""
    (hi, lo), z = reduced.r, reduced.z
    negative = [-each for each in SIN[z.dtype]]
    return fma(hi * z, polynomial(z, negative), fma(_halved(z).hi, lo, 0.0))


def cos_pair(reduced: Reduced) -> Pair:
    """cos(r) as 1 - z/2 rounded, and that less cos(r)."""
    (hi, lo), z = reduced.r, reduced.z
    halved = _halved(z)
    negative = [-each for each in COS[z.dtype]]
    rest = fma(z * z, polynomial(z, negative), fma(hi, lo, halved.lo))
    return Pair(-halved.hi, rest)


def _from_quadrant(x: Value, reduced: Reduced) -> Value:
    """sin(r + quadrant * pi/2)."""
    cos = cos_pair(reduced)
    is_odd = (reduced.quadrant & 1).ne(0)
    hi = select(is_odd, cos.hi, reduced.r.hi)
    result = hi - select(is_odd, cos.lo, sin_rest(reduced))
    return _with_sign_of(x, result, reduced.quadrant)


def _from_next_quadrant_blended(x: Value, reduced: Reduced) -> Value:
    """sin(r + (quadrant - 1) * pi/2), the bits of `_from_quadrant`, with one polynomial whose
    coefficients are chosen lane by lane. In odd quadrants it is -cos(r) that is computed, so the
    sign changes with the second bit of the next quadrant."""
    (hi, lo), z = reduced.r, reduced.z
    is_cos = (reduced.quadrant & 1).eq(0)
    halved = _halved(z)
    pairs = zip(COS[x.dtype], SIN[x.dtype], strict=True)
    chosen = polynomial(z, [select(is_cos, x.lift(c), -s) for c, s in pairs])
    low = select(is_cos, fma(-hi, lo, -halved.lo), fma(halved.hi, lo, 0.0))
    rest = fma(select(is_cos, z, hi) * z, chosen, low)
    return _with_sign_of(x, select(is_cos, halved.hi, hi) - rest, reduced.quadrant)


def _with_sign_of(x: Value, result: Value, quadrant: Value) -> Value:
    """The result, negative in the second half of the circle."""
    form = FORMATS[x.dtype]
    bits = 8 * int(form.dtype[1:])
    sign = (quadrant << (bits - 2)) & (1 << (bits - 1))
    return from_bits(bitcast(result, form.unsigned) ^ sign)


def _or_libm(x: Value, result: Value, name: str) -> Value:
    """libm for arguments that the reduction does not cover."""
    is_huge = absolute(x) > FORMATS[x.dtype].trig_limit
    return x.body.emit("libm", x.dtype, is_huge, result, x, attr=name)


def sin(x: Value) -> Value:
    return _or_libm(x, _from_quadrant(x, reduce(x)), "sin")


def sin_blended(x: Value) -> Value:
    return _or_libm(x, _from_next_quadrant_blended(x, reduce(x, ahead=1)), "sin")


def cos(x: Value) -> Value:
    return _or_libm(x, _from_quadrant(x, reduce(x, ahead=1)), "cos")


def cos_blended(x: Value) -> Value:
    return _or_libm(x, _from_next_quadrant_blended(x, reduce(x, ahead=2)), "cos")


def tan(x: Value) -> Value:
    """sin/cos in one division, -cos/sin in odd quadrants; of pairs for float64."""
    reduced = reduce(x)
    is_odd = (reduced.quadrant & 1).ne(0)
    cos = cos_pair(reduced)
    sin_r, cos_r = Pair(reduced.r.hi, -sin_rest(reduced)), Pair(cos.hi, -cos.lo)
    ratio = (_short_tan if x.dtype == "f4" else _pair_tan)(sin_r, cos_r, is_odd)
    is_tiny = absolute(x) < 2.0 ** -(FORMATS[x.dtype].mantissa // 2 + 2)
    return _or_libm(x, select(is_tiny, x, ratio), "tan")


def _short_tan(sin_r: Pair, cos_r: Pair, is_odd: Value) -> Value:
    sin_value, cos_value = sin_r.hi + sin_r.lo, cos_r.hi + cos_r.lo
    return select(is_odd, -cos_value, sin_value) / select(is_odd, sin_value, cos_value)


def _pair_tan(sin_r: Pair, cos_r: Pair, is_odd: Value) -> Value:
    sin_r, cos_r = fast_two_sum(*sin_r), fast_two_sum(*cos_r)
    numerator = Pair(select(is_odd, -cos_r.hi, sin_r.hi), select(is_odd, -cos_r.lo, sin_r.lo))
    denominator = Pair(select(is_odd, sin_r.hi, cos_r.hi), select(is_odd, sin_r.lo, cos_r.lo))
    ratio = divide(numerator, denominator)
    return ratio.hi + ratio.lo
