"""sin, cos, tan: reduction by three-part pi/2 to a pair in [-pi/4, pi/4], minimax polynomials,
libm when it is huge.

Source of the kernels' form: FDLIBM k_sin.c, k_cos.c; of the reduction: Cody and Waite with a fused
multiply-add, as in Muller et al., Handbook of Floating-Point Arithmetic. Coefficients:
scripts/minimax.

Where choosing between two values is one instruction, and of a unit that does not multiply, lanes
choose the coefficients of sine or cosine instead of computing both.
"""

from __future__ import annotations

from collections.abc import Callable
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

FromQuadrant = Callable[[Value, "Reduced", Value], Value]


class Reduced(NamedTuple):
    """x = quadrant * pi/2 + (r.hi + r.lo); with z = r.hi**2 and half = z/2."""

    quadrant: Value
    r: Pair
    z: Value
    half: Value


def reduce(x: Value) -> Reduced:
    """Reduce |x| <= trig_limit.

    x - q*P1 is exact, and a multiple of an ulp of q*P2, so `fast_two_sum` may follow.
    """
    form = FORMATS[x.dtype]
    q, quadrant = round_by_shift(x, 1.0 / form.half_pi[0])
    head = fma_exact(q, -form.half_pi[0], x)
    middle = q * -form.half_pi[1]
    middle_low = fma_exact(q, -form.half_pi[1], -middle)
    total = fast_two_sum(head, middle)
    low = fma(q, -form.half_pi[2], total.lo + middle_low)
    z = total.hi * total.hi
    return Reduced(quadrant, Pair(total.hi, low), z, 0.5 * z)


def sin_tail(reduced: Reduced) -> Value:
    """sin(r) - r.hi."""
    (hi, lo), z = reduced.r, reduced.z
    return fma(hi * z, polynomial(z, SIN[z.dtype]), fma(-reduced.half, lo, lo))


def cos_head(reduced: Reduced) -> Pair:
    """1 - z/2 exactly."""
    head = 1.0 - reduced.half
    return Pair(head, (1.0 - head) - reduced.half)


def cos_pair(reduced: Reduced) -> Pair:
    """cos(r) as 1 - z/2 rounded, and the rest."""
    (hi, lo), z = reduced.r, reduced.z
    head, lost = cos_head(reduced)
    return Pair(head, fma(z * z, polynomial(z, COS[z.dtype]), fma(-hi, lo, lost)))


def _from_quadrant(x: Value, reduced: Reduced, quadrant: Value) -> Value:
    """sin(r + quadrant * pi/2)."""
    cos = cos_pair(reduced)
    is_odd = (quadrant & 1).ne(0)
    hi = select(is_odd, cos.hi, reduced.r.hi)
    result = hi + select(is_odd, cos.lo, sin_tail(reduced))
    return _with_sign_of(x, result, quadrant)


def _from_quadrant_blended(x: Value, reduced: Reduced, quadrant: Value) -> Value:
    """`_from_quadrant`, bit for bit, with one polynomial whose coefficients are chosen lane by
    lane."""
    (hi, lo), z, half = reduced.r, reduced.z, reduced.half
    is_odd = (quadrant & 1).ne(0)
    head, lost = cos_head(reduced)
    pairs = zip(COS[x.dtype], SIN[x.dtype], strict=True)
    chosen = polynomial(z, [select(is_odd, x.lift(c), s) for c, s in pairs])
    rest = fma(-select(is_odd, hi, half), lo, select(is_odd, lost, lo))
    tail = fma(select(is_odd, z, hi) * z, chosen, rest)
    return _with_sign_of(x, select(is_odd, head, hi) + tail, quadrant)


def _with_sign_of(x: Value, result: Value, quadrant: Value) -> Value:
    """The result, negative in the second half of the circle."""
    form = FORMATS[x.dtype]
    sign = (quadrant & 2) << (8 * int(form.dtype[1:]) - 2)
    return from_bits(bitcast(result, form.unsigned) ^ sign)


def _or_libm(x: Value, result: Value, name: str) -> Value:
    """libm for arguments that the reduction does not cover."""
    is_huge = absolute(x) > FORMATS[x.dtype].trig_limit
    return x.body.emit("libm", x.dtype, is_huge, result, x, attr=name)


def sin(x: Value) -> Value:
    return _sin(x, _from_quadrant)


def sin_blended(x: Value) -> Value:
    return _sin(x, _from_quadrant_blended)


def _sin(x: Value, from_quadrant: FromQuadrant) -> Value:
    reduced = reduce(x)
    result = from_quadrant(x, reduced, reduced.quadrant)
    is_tiny = absolute(x) < 2.0 ** -(FORMATS[x.dtype].mantissa // 2 + 2)
    return _or_libm(x, select(is_tiny, x, result), "sin")


def cos(x: Value) -> Value:
    return _cos(x, _from_quadrant)


def cos_blended(x: Value) -> Value:
    return _cos(x, _from_quadrant_blended)


def _cos(x: Value, from_quadrant: FromQuadrant) -> Value:
    reduced = reduce(x)
    return _or_libm(x, from_quadrant(x, reduced, reduced.quadrant + 1), "cos")


def tan(x: Value) -> Value:
    """sin/cos in one division, -cos/sin in odd quadrants; of pairs for float64."""
    reduced = reduce(x)
    is_odd = (reduced.quadrant & 1).ne(0)
    sin_r, cos_r = Pair(reduced.r.hi, sin_tail(reduced)), cos_pair(reduced)
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
