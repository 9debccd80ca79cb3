"""fmod: what is left of x after as many y as fit, exactly.

The quotient is rounded to the nearest float and then down. As long as it is less than 2**mantissa,
it is right or one too large, since rounding does not pass an integer; with it, x - quotient * y is
a float, and one fma gives it; so is the sum with y where it was one too large. Other lanes, and
those that are invalid, are the C library's.

Source: the correction step of C's fmod as in J.-M. Muller et al., Handbook of Floating-Point
Arithmetic, 2nd edition, section 4.7 (an fma gives the remainder of a division exactly).
"""

from __future__ import annotations

import math

from lazyfuse.backends.cpu.vecmath.doubles import absolute, copysign, fma_exact
from lazyfuse.backends.cpu.vecmath.formats import FORMATS
from lazyfuse.ops.body import Value, select


def fmod(x: Value, y: Value) -> Value:
    size, step = absolute(x), absolute(y)
    is_zero = step.eq(0.0)
    quotient = size / select(is_zero, 1.0, step)  # without a condition that fmod has not
    rest = fma_exact(-quotient.unary("trunc"), step, size)
    result = copysign(select(rest < 0.0, rest + step, rest), x)
    is_large = quotient >= 2.0 ** FORMATS[x.dtype].mantissa
    is_rare = is_large | is_zero | step.eq(math.inf)
    return x.body.emit("libm", x.dtype, is_rare, result, x, y, attr="fmod")


def fmod_by_lanes(x: Value, y: Value) -> Value:
    """All lanes are the C library's: without the instruction an fma is exact only for numbers
    that are neither huge nor tiny."""
    always = x.body.emit("const", "b1", attr=True)
    return x.body.emit("libm", x.dtype, always, x, x, y, attr="fmod")
