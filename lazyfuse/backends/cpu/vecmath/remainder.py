"""fmod: what is left of x after as many y as fit, exactly.

The quotient is rounded to the nearest float and then down. As long as it is less than 2**mantissa,
it is right or one too large, since rounding does not pass an integer; with it, x - quotient * y is
a float, and one fma gives it; so is the sum with y where it was one too large. Larger quotients
are taken off in two steps, in float64 and behind a branch: what is left of x after as many
2**51 y as fit, and then of that. Other lanes, and those that are invalid, are the C library's.

Source: the correction step of C's fmod as in J.-M. Muller et al., Handbook of Floating-Point
Arithmetic, 2nd edition, section 4.7 (an fma gives the remainder of a division exactly).
"""

from __future__ import annotations

import math

from lazyfuse.backends.cpu.vecmath.doubles import absolute, copysign, fma_exact
from lazyfuse.backends.cpu.vecmath.formats import FORMATS
from lazyfuse.ops.body import Value, cast, select

#: Quotients that are not computed here.
_MOST = 2.0**103


def fmod(x: Value, y: Value) -> Value:
    form = FORMATS[x.dtype]
    size, step, is_zero, quotient = _divided(x, y)
    result = copysign(_rest(quotient, size, step), x)
    is_large = quotient >= 2.0**form.mantissa
    result = x.body.emit("rare", x.dtype, is_large, result, x, y, attr="fmod_in_steps")
    is_rare = (quotient >= _MOST) | is_zero | step.eq(math.inf)
    return x.body.emit("libm", x.dtype, is_rare, result, x, y, attr="fmod")


def _divided(x: Value, y: Value) -> tuple[Value, Value, Value, Value]:
    """|x|, |y|, whether that is 0, and the quotient, without a condition that fmod has not."""
    size, step = absolute(x), absolute(y)
    is_zero = step.eq(0.0)
    return size, step, is_zero, size / select(is_zero, 1.0, step)


def _rest(quotient: Value, size: Value, step: Value) -> Value:
    """size - n * step, from the quotient, which is less than 2**mantissa."""
    rest = fma_exact(-quotient.unary("trunc"), step, size)
    return select(rest < 0.0, rest + step, rest)


def fmod_in_steps(common: Value, x: Value, y: Value) -> Value:
    """Of quotients from 2**mantissa on, less than `_MOST`. Of others it is `common`; 1 stands for
    them, which meets no condition."""
    size, step, is_zero, quotient = _divided(x, y)
    is_large = quotient >= 2.0 ** FORMATS[x.dtype].mantissa
    is_large = is_large & (quotient < _MOST) & ~is_zero
    size, step = (cast(select(is_large, value, 1.0), "f8") for value in (size, step))
    far = step * 2.0**51
    size = _rest(size / far, size, far)
    rest = cast(_rest(size / step, size, step), x.dtype)
    return select(is_large, copysign(rest, x), common)


def fmod_by_lanes(x: Value, y: Value) -> Value:
    """All lanes are the C library's: without the instruction an fma is exact only for numbers
    that are neither huge nor tiny."""
    always = x.body.emit("const", "b1", attr=True)
    return x.body.emit("libm", x.dtype, always, x, x, y, attr="fmod")
