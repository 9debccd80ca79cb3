"""Transcendental functions of complex numbers over pairs of floats.

NumPy calls the C library's. The special values are those of C99, Annex G.6, and the steps against
what would overflow or cancel on the way are glibc's (math/s_cexp_template.c and its neighbours).
Where a condition is met, NumPy is asked what it has to say.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from lazyfuse.ops.body import Value, flag, fma, make_complex, select
from lazyfuse.ops.complex_arith import is_nan, parts
from lazyfuse.ops.composite import is_finite, is_inf
from lazyfuse.ops.float_flags import DIVIDE, INVALID, OVERFLOW


class _Format(NamedTuple):
    """Of a float dtype. far: exp overflows a little later; huge: what hypot makes of more may
    overflow; tiny: what it makes of less may lose bits, which 2**up saves."""

    far: float
    huge: float
    tiny: float
    up: int


_FORMATS = {
    "f8": _Format(709.0, 2.0**1021, 2.0**-960, 108),
    "f4": _Format(88.0, 2.0**125, 2.0**-100, 48),
}
#: NPY_LOG2E and NPY_LOG10E of npy_math.h.
_LOG2_E, _LOG10_E = 1.442695040888963407359924681001892137, 0.434294481903251827651128918916605082


def exp(z: Value) -> Value:
    x, y = parts(z)
    size, scale = _exponential(x)
    re = y.unary("cos") * scale * size
    im = select(y.eq(0.0), y, y.unary("sin") * scale * size)
    is_open, is_below = ~is_finite(y), x.eq(-math.inf)
    re = select(is_open & is_inf(x), select(is_below, x.lift(0.0), x), re)
    im = select(is_open & is_below, x.lift(0.0).binary("copysign", y), im)
    return make_complex(_asked(re, is_open | is_nan(z)), im)


def _exponential(x: Value) -> tuple[Value, Value]:
    """e**x as a product, the second of which is one unless the first would overflow."""
    far = _FORMATS[x.dtype].far
    is_far = x > far
    size = select(is_far, x - far, x).unary("exp")
    return size, select(is_far, x.lift(math.exp(far)), 1.0)


def sinh(z: Value) -> Value:
    x, y = parts(z)
    sine, cosine = _circular(y)
    odd, even, scale = _hyperbolic(x)
    re, im = cosine * scale * odd, select(y.eq(0.0), y, sine * scale * even)
    is_open = ~is_finite(y)
    re = select(is_open & x.eq(0.0), x, select(is_open & is_inf(x), x.unary("abs"), re))
    return make_complex(_asked(re, is_open | is_nan(z)), im)


def cosh(z: Value) -> Value:
    x, y = parts(z)
    sine, cosine = _circular(y)
    odd, even, scale = _hyperbolic(x)
    re, im = cosine * scale * even, sine * scale * odd
    is_open = ~is_finite(y)
    re = select(is_open & is_inf(x), x.unary("abs"), re)
    signed = select(x.eq(x), y * x.lift(1.0).binary("copysign", x), y)
    im = select(y.eq(0.0), signed, select(is_open & x.eq(0.0), x.lift(0.0), im))
    return make_complex(_asked(re, is_open | is_nan(z)), im)


def sin(z: Value) -> Value:
    """sinh with both parts exchanged, before and after."""
    x, y = parts(z)
    re, im = parts(sinh(make_complex(y, x)))
    return make_complex(im, re)


def cos(z: Value) -> Value:
    """cosh(iz)"""
    x, y = parts(z)
    return cosh(make_complex(-y, x))


def _circular(y: Value) -> tuple[Value, Value]:
    return y.unary("sin"), y.unary("cos")


def _hyperbolic(x: Value) -> tuple[Value, Value, Value]:
    """sinh and cosh of x, and a factor of both, which is one unless they would overflow."""
    far = _FORMATS[x.dtype].far
    size = x.unary("abs")
    is_far = size > far
    near = select(is_far, x.lift(0.0), x)
    beyond = (size - far).unary("exp")
    odd = select(is_far, beyond.binary("copysign", x), near.unary("sinh"))
    even = select(is_far, beyond, near.unary("cosh"))
    return odd, even, select(is_far, x.lift(0.5 * math.exp(far)), 1.0)


def log(z: Value) -> Value:
    x, y = parts(z)
    high, low = _ordered(x, y)
    factor, steps = _scaling(high)
    far = (high * factor).binary("hypot", low * factor).unary("log") - steps * math.log(2.0)
    is_near = (high > 0.5) & (high < 4.0)
    less_one = _square_less_one(select(is_near, high, 1.0), select(is_near, low, x.lift(0.0)))
    re = select(is_near, less_one.unary("log1p") * 0.5, far)
    re = select(is_nan(z) & (is_inf(x) | is_inf(y)), x.lift(math.inf), re)
    return make_complex(flag(re, high.eq(0.0), DIVIDE), y.binary("atan2", x))


def _square_less_one(high: Value, low: Value) -> Value:
    """high**2 + low**2 - 1 for sizes not far from one, with what squares and sums lose."""
    one, other = high * high, low * low
    total, lost = _two_sum(one, other)
    squares, rest = _two_sum(fma(high, high, -one), fma(low, low, -other))
    small, less = _two_sum(lost, squares)
    found, least = _two_sum(total - 1.0, small)
    return found + (least + (less + rest))


def _two_sum(x: Value, y: Value) -> tuple[Value, Value]:
    """A sum and what it loses. Source: Knuth, The Art of Computer Programming 2, 4.2.2."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def log2(z: Value) -> Value:
    return _times(log(z), _LOG2_E)


def log10(z: Value) -> Value:
    return _times(log(z), _LOG10_E)


def _times(z: Value, factor: float) -> Value:
    x, y = parts(z)
    return make_complex(x * factor, y * factor)


def _ordered(x: Value, y: Value) -> tuple[Value, Value]:
    """The sizes of both, the larger one first."""
    across, up = x.unary("abs"), y.unary("abs")
    is_across = across > up
    return select(is_across, across, up), select(is_across, up, across)


def _scaling(high: Value) -> tuple[Value, Value]:
    """A power of two for numbers of which `high` is the largest, and its exponent."""
    form = _FORMATS[high.dtype]
    is_huge, is_tiny = high > form.huge, high < form.tiny
    factor = select(is_huge, high.lift(0.25), select(is_tiny, high.lift(2.0**form.up), 1.0))
    steps = select(is_huge, high.lift(-2.0), select(is_tiny, high.lift(float(form.up)), 0.0))
    return factor, steps


def _asked(x: Value, condition: Value) -> Value:
    """`x`; where a condition holds NumPy may have something to say."""
    return flag(x, condition, INVALID | OVERFLOW)
