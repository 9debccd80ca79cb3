"""Error-free sums and products, and pairs (hi, lo) of floats that stand for their exact sum.

Source: Dekker, A floating-point technique for extending the available precision, 1971; Knuth,
TAOCP 2, 4.2.2; Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, chapters 4 and
5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lazyfuse.ops.body import Operand, Value, bitcast, fma, select


class Pair(NamedTuple):
    """The exact sum hi + lo; |lo| is at most about an ulp of hi."""

    hi: Value
    lo: Value


def fma_exact(x: Value, y: Operand, z: Operand) -> Value:
    """x*y + z rounded once, also where the target has no such instruction (there it is slow)."""
    return x.body.emit("fma", x.dtype, x, x.lift(y), x.lift(z), attr="exact")


def polynomial(x: Value, coefficients: Sequence[Operand]) -> Value:
    """Horner's rule, lowest power first; long ones as two chains in x*x, for half the latency."""
    if len(coefficients) < 7:
        return _horner(x, coefficients)
    square = x * x
    return fma(_horner(square, coefficients[1::2]), x, _horner(square, coefficients[::2]))


def _horner(x: Value, coefficients: Sequence[Operand]) -> Value:
    total = x.lift(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = fma(total, x, coefficient)
    return total


def fast_two_sum(x: Operand, y: Value) -> Pair:
    """x + y exactly; |x| >= |y|, or x is 0, or x is a multiple of an ulp of y."""
    x = y.lift(x)
    total = x + y
    return Pair(total, (x - total) + y)


def two_sum(x: Operand, y: Value) -> Pair:
    """x + y exactly, in any order."""
    x = y.lift(x)
    total = x + y
    moved = total - x
    return Pair(total, (x - (total - moved)) + (y - moved))


def two_product(x: Value, y: Operand) -> Pair:
    """x * y exactly, barring underflow."""
    product = x * y
    return Pair(product, fma_exact(x, y, -product))


def multiply(x: Pair, y: Pair) -> Pair:
    """The product of two pairs, relative error about 2**-2p."""
    product = two_product(x.hi, y.hi)
    return Pair(product.hi, fma(x.hi, y.lo, fma(x.lo, y.hi, product.lo)))


def divide(x: Pair, y: Pair) -> Pair:
    """The quotient of two pairs with one division; 1/y.hi must neither overflow nor underflow."""
    inverse = 1.0 / y.hi
    quotient = x.hi * inverse
    rest = fma_exact(-quotient, y.hi, x.hi)
    return Pair(quotient, (rest + fma(-quotient, y.lo, x.lo)) * inverse)


def about_inverse(x: Value) -> Value:
    """1/x within an eighth, for x > 0 whose inverse is normal: enough for what is rounded away,
    and no division. Of 0 it is finite."""
    return from_bits(_INVERTED[x.dtype] - bitcast(x, f"u{x.dtype[1:]}"))


#: Less the bits of x, those of about 1/x: exponents are subtracted, and mantissas nearly follow.
#: Source: Blinn, Floating-point tricks, IEEE Computer Graphics and Applications 17, 1997.
_INVERTED = {"f4": 0x7EF311C7, "f8": 0x7FDE6238DA3C2118}


def root(x: Pair) -> Pair:
    """The square root of a pair; x.hi > 0 or the low part is meaningless."""
    result = x.hi.unary("sqrt")
    rest = fma_exact(-result, result, x.hi) + x.lo
    return Pair(result, rest * about_inverse(result + result))


def absolute(x: Value) -> Value:
    return x.unary("abs")


def copysign(x: Value, y: Value) -> Value:
    return x.binary("copysign", y)


def is_nan(x: Value) -> Value:
    return x.ne(x)


def clamp(x: Value, low: float, high: float) -> Value:
    """x limited to [low, high]; NaN stays NaN, and raises INVALID on the way: such comparisons and
    selections are one instruction each (primitives with clamps are NOISY)."""
    limit = x.lift(high)
    x = select(x.body.emit("lt", "b1", limit, x, attr="signaling"), limit, x)
    limit = x.lift(low)
    return select(x.body.emit("lt", "b1", x, limit, attr="signaling"), limit, x)


def lookup(bits: Value, name: str, dtype: str = "f8") -> Value:
    """The number of a table (`tables.py`) by the last four bits of a word of its size."""
    return bits.body.emit("lookup", dtype, bits, attr=name)


def from_bits(bits: Value) -> Value:
    """The float with these bits."""
    return bitcast(bits, f"f{bits.dtype[1:]}")
