"""Bodies that take more than one primitive: NumPy's semantics, written once for every device.

Each follows the named NumPy source (numpy/_core/src/umath/loops*.src,
npymath/npy_math_internal.h.src, 2.4), special values included; `tests/test_ops_matrix.py` compares
them all with NumPy.
"""

from __future__ import annotations

import math

import numpy as np

from lazyfuse.ops import complex_arith
from lazyfuse.ops.body import Value, bitcast, cast, flag, real, select
from lazyfuse.ops.extremes import clip
from lazyfuse.ops.float_bits import MANTISSA_BITS, double_to_half, float_to_int, int_twin
from lazyfuse.ops.float_flags import DIVIDE, INVALID, OVERFLOW
from lazyfuse.ops.numpy_version import NUMPY

PI_OVER_180 = math.pi / 180.0
INV_LN2 = 1.4426950408889634  # 1/ln 2, rounded to f8 (npy_math NPY_LOG2E)
LN2 = 0.6931471805599453  # ln 2 rounded to f8 (NPY_LOGE2)


def is_nan(x: Value) -> Value:
    return x.ne(x)


def is_inf(x: Value) -> Value:
    return absolute(x).eq(math.inf)


def is_finite(x: Value) -> Value:
    return absolute(x) < math.inf


def sign_bit(x: Value) -> Value:
    return bitcast(x, int_twin(x.dtype)) < 0


def absolute(x: Value) -> Value:
    """Integers wrap: abs of the smallest is itself."""
    if x.kind == "f":
        return x.unary("abs")
    return select(x < 0, -x, x) if x.kind == "i" else x


def truth(x: Value) -> Value:
    """x != 0; NaN is true."""
    return x if x.dtype == "b1" else x.ne(0)


def astype(x: Value, dtype: str) -> Value:
    """Convert as `ndarray.astype` does on x86-64, values out of an integer's range included."""
    if x.dtype == dtype:
        return x
    if dtype[0] == "c":
        return complex_arith.convert(x, dtype)
    if x.kind == "c":
        return complex_arith.truth(x) if dtype == "b1" else astype(real(x), dtype)
    if dtype == "b1":
        return truth(cast(x, "f4") if x.dtype == "f2" else x)
    if x.kind == "f" and dtype[0] in "iu":
        return float_to_int(cast(x, "f4") if x.dtype == "f2" else x, dtype)
    if dtype == "f2" and x.dtype not in ("f4", "b1"):
        return double_to_half(x) if x.dtype == "f8" else cast(cast(x, "f4"), "f2")
    if x.dtype == "f2" and dtype != "f4":
        return cast(cast(x, "f4"), dtype)
    return cast(x, dtype)


def sign(x: Value) -> Value:
    if x.kind == "u":
        return select(x.ne(0), x.lift(1), 0)
    signs = select(x > 0, x.lift(1), select(x < 0, x.lift(-1), 0))
    return select(is_nan(x), x, signs) if x.kind == "f" else signs


def where(condition: Value, x: Value, y: Value) -> Value:
    return select(truth(condition), x, y, heard=True)


# ---- division: npy_divmod and the integer loops


def int_floor_divide(x: Value, y: Value) -> Value:
    """Rounds down; x//0 is 0; the smallest // -1 wraps."""
    if x.kind == "u":
        quotient = select(y.eq(0), x.lift(0), x / select(y.eq(0), y.lift(1), y))
        return flag(quotient, y.eq(0), DIVIDE)
    divisor = select(y.eq(0) | y.eq(-1), y.lift(1), y)
    quotient = x / divisor
    inexact = (quotient * divisor).ne(x)
    floored = quotient - select(inexact & ((x < 0) ^ (y < 0)), x.lift(1), 0)
    wraps = y.eq(-1) & x.eq(-(1 << (x.bits - 1)))
    floored = select(y.eq(0), x.lift(0), select(y.eq(-1), -x, floored))
    return flag(flag(floored, wraps, OVERFLOW), y.eq(0), DIVIDE)


def int_remainder(x: Value, y: Value) -> Value:
    """The sign of the divisor; x % 0 is 0."""
    if x.kind == "u":
        return int_fmod(x, y)
    rest = int_fmod(x, y)
    return select(rest.ne(0) & ((rest < 0) ^ (y < 0)), rest + y, rest)


def int_fmod(x: Value, y: Value) -> Value:
    """The sign of the dividend; x % 0 is 0. By the quotient, which `//` has, too."""
    trivial = y.eq(0) if y.kind == "u" else y.eq(0) | y.eq(-1)
    divisor = select(trivial, y.lift(1), y)
    rest = select(trivial, x.lift(0), x - (x / divisor) * divisor)
    return flag(rest, y.eq(0), DIVIDE)


def fmod(x: Value, y: Value) -> Value:
    return x.binary("fmod", y)


def float_floor_divide(x: Value, y: Value) -> Value:
    rest = fmod(x, y)
    quotient = (x - rest) / y
    adjust = rest.ne(0) & ((y < 0) ^ (rest < 0))
    quotient = select(adjust, quotient - 1.0, quotient)
    floored = quotient.unary("floor")
    floored = select((quotient - floored) > 0.5, floored + 1.0, floored)
    snapped = select(quotient.eq(0), x.lift(0.0).binary("copysign", x / y), floored)
    return select(y.eq(0), x / y, snapped)


def float_remainder(x: Value, y: Value) -> Value:
    rest = fmod(x, y)
    moved = select((y < 0) ^ (rest < 0), rest + y, rest)
    signed = select(rest.eq(0), x.lift(0.0).binary("copysign", y), moved)
    return select(y.eq(0), rest, signed)


def reciprocal(x: Value) -> Value:
    """Integers truncate 1/x; 1/0 gives the smallest signed value (NumPy casts 1.0/0 on x86-64),
    0 when unsigned."""
    if x.kind == "f":
        return 1.0 / x
    ones = select(x.eq(1), x.lift(1), 0)
    if x.kind == "u":
        return _flag_cast_of_infinity(ones, x.eq(0))
    at_zero = x.lift(-(1 << (x.bits - 1)) if x.bits >= 32 else 0)  # narrow types keep the low bits
    inverse = select(x.eq(0), at_zero, select(x.eq(-1), x.lift(-1), ones))
    return _flag_cast_of_infinity(inverse, x.eq(0))


def _flag_cast_of_infinity(x: Value, condition: Value) -> Value:
    """`x`; where the b1 `condition` holds, 1.0/0 was cast to an integer."""
    return flag(flag(x, condition, DIVIDE), condition, INVALID)


def modf_fraction(x: Value) -> Value:
    """The fraction with the sign of x; 0 of that sign for infinities."""
    fraction = x - x.unary("trunc")
    return select(is_inf(x), x.lift(0.0), fraction).binary("copysign", x)


# ---- bits


def left_shift(x: Value, amount: Value) -> Value:
    """0 when the amount is negative or not less than the width (npy_lshift)."""
    usable = _in_width(x, amount)
    return select(usable, x << select(usable, amount, 0), 0)


def right_shift(x: Value, amount: Value) -> Value:
    """0, or -1 for negative x, when the amount is negative or not less than the width
    (npy_rshift)."""
    usable = _in_width(x, amount)
    shifted = x >> select(usable, amount, 0)
    far = select(x < 0, x.lift(-1), 0) if x.kind == "i" else x.lift(0)
    return select(usable, shifted, far)


def _in_width(x: Value, amount: Value) -> Value:
    below = amount < x.bits
    return below if amount.kind == "u" else below & (amount >= 0)


def bitwise_count(x: Value) -> Value:
    """Set bits of the absolute value, as u1."""
    return cast(absolute(x).unary("popcount"), "u1")


def nextafter(x: Value, y: Value) -> Value:
    """The neighbour of x towards y (npy_nextafter), by integer steps on the bits."""
    twin = int_twin(x.dtype)
    bits = bitcast(x, twin)
    away = (x < y) ^ (x < 0)
    stepped = bitcast(bits + select(away, bits.lift(1), -1), x.dtype)
    smallest = bitcast(bits.lift(1), x.dtype).binary("copysign", y)
    moved = select(x.eq(0), smallest, stepped)
    found = select(is_nan(x) | is_nan(y), x + y, select(x.eq(y), y, moved))
    return flag(found, is_inf(found) & is_finite(x), OVERFLOW)


def spacing(x: Value) -> Value:
    """The distance to the neighbour away from zero, with the sign of x (npy_spacing)."""
    is_infinite = is_inf(x)
    finite = select(is_infinite, 1.0, x)  # inf - inf would raise flags
    bits = bitcast(finite, int_twin(x.dtype))
    smallest = bitcast(bits.lift(1), x.dtype)
    distance = bitcast(bits + 1, x.dtype) - finite
    distance = select(x.eq(0), smallest, select(is_infinite, math.nan, distance))
    return flag(distance, is_inf(distance), OVERFLOW)


def spacing_half(x: Value) -> Value:
    """The distance to the neighbour towards +inf, always positive (npy_half_spacing);
    exact in f4."""
    bits = bitcast(x, "i2")
    wide = cast(x, "f4")
    step = select(wide < 0, bits.lift(-1), 1)
    stepped = cast(bitcast(bits + step, "f2"), "f4") - wide
    distance = select(is_inf(wide), wide - wide, stepped)
    distance = flag(distance, ~is_finite(wide), INVALID)
    distance = flag(distance, is_finite(wide) & is_inf(cast(stepped, "f4")), OVERFLOW)
    return select(wide.eq(0), bitcast(bits.lift(1), "f2"), cast(distance, "f2"))


def ldexp(x: Value, exponent: Value) -> Value:
    """x * 2**exponent with one rounding:
    clamp the exponent, scale in three steps that round at most once."""
    limit = 2 * (1 << (x.bits - 2 - MANTISSA_BITS[x.dtype]))
    span = limit + MANTISSA_BITS[x.dtype]
    exponent = clip(
        cast(exponent, "i8"), cast(exponent, "i8").lift(-span), cast(exponent, "i8").lift(span)
    )
    return _scale(x, cast(exponent, int_twin(x.dtype)))


def _scale(x: Value, exponent: Value) -> Value:
    """Scale by powers of two.
    Shrinking goes first by a power that keeps x normal, so only the last step rounds."""
    mantissa = MANTISSA_BITS[x.dtype]
    bias = (1 << (x.bits - 2 - mantissa)) - 1
    low, high = -(bias - 1) + mantissa + 1, bias
    for _ in range(2):
        step = select(
            exponent > high, exponent.lift(high), select(exponent < low, exponent.lift(low), 0)
        )
        x = x * _power_of_two(step, x.dtype)
        exponent = exponent - step
    last = select(
        exponent > high,
        exponent.lift(high),
        select(exponent < -(bias - 1), exponent.lift(-(bias - 1)), exponent),
    )
    return x * _power_of_two(last, x.dtype) * _power_of_two(exponent - last, x.dtype)


def _power_of_two(exponent: Value, dtype: str) -> Value:
    mantissa = MANTISSA_BITS[dtype]
    bias = (1 << (exponent.bits - 2 - mantissa)) - 1
    return bitcast((exponent + bias) << mantissa, dtype)


def frexp_mantissa(x: Value) -> Value:
    """In [0.5, 1) with the sign of x; x itself for 0, infinities and NaN."""
    scaled, _ = _normalized(x)
    twin = int_twin(x.dtype)
    mantissa = MANTISSA_BITS[x.dtype]
    bias = (1 << (x.bits - 2 - mantissa)) - 1
    field = ((1 << (x.bits - 1 - mantissa)) - 1) << mantissa
    bits = (bitcast(scaled, twin) & ~_constant(x, field)) | _constant(x, (bias - 1) << mantissa)
    return select(x.eq(0) | ~is_finite(x), x, bitcast(bits, x.dtype))


def frexp_exponent(x: Value) -> Value:
    """The i4 exponent of `frexp`; 0 for 0, infinities and NaN; glibc gives 0 for those too."""
    scaled, shift = _normalized(x)
    mantissa = MANTISSA_BITS[x.dtype]
    bias = (1 << (x.bits - 2 - mantissa)) - 1
    field = (bitcast(absolute(scaled), int_twin(x.dtype)) >> mantissa) - (bias - 1) - shift
    return cast(select(x.eq(0) | ~is_finite(x), field.lift(0), field), "i4")


def _normalized(x: Value) -> tuple[Value, Value]:
    """x times 2**shift, normal; and the shift."""
    mantissa = MANTISSA_BITS[x.dtype]
    bias = (1 << (x.bits - 2 - mantissa)) - 1
    tiny = absolute(x) < 2.0 ** (1 - bias)
    shift = mantissa + 1
    zero = bitcast(x, int_twin(x.dtype)).lift(0)
    return select(tiny, x * 2.0**shift, x), select(tiny, zero.lift(shift), zero)


def _constant(x: Value, bits: int) -> Value:
    return x.body.const(bits, int_twin(x.dtype))


# ---- sums of exponentials: npy_logaddexp, npy_logaddexp2


def logaddexp(x: Value, y: Value) -> Value:
    difference = x - y
    larger = select(difference > 0, x, y)
    smooth = larger + (-absolute(difference)).unary("exp").unary("log1p")
    return _log_sum(x, y, difference, smooth, LN2)


def logaddexp2(x: Value, y: Value) -> Value:
    difference = x - y
    larger = select(difference > 0, x, y)
    smooth = larger + (-absolute(difference)).unary("exp2").unary("log1p") * INV_LN2
    return _log_sum(x, y, difference, smooth, 1.0)


def _log_sum(x: Value, y: Value, difference: Value, smooth: Value, doubled: float) -> Value:
    return select(x.eq(y), x + doubled, select(is_nan(difference), difference, smooth))


def heaviside(x: Value, at_zero: Value) -> Value:
    steps = select(x < 0, x.lift(0.0), 1.0)
    nan = x.lift(math.nan)  # NPY_NAN, not the one that it was given
    return select(is_nan(x), nan, select(x.eq(0), at_zero, steps))


def radians(x: Value) -> Value:
    return x * (PI_OVER_180 if x.dtype == "f8" else float(_PI_F4 / np.float32(180)))


def degrees(x: Value) -> Value:
    return x * (180.0 / math.pi if x.dtype == "f8" else float(np.float32(180) / _PI_F4))


#: NPY_PIf: NumPy divides in float32 for float32.
_PI_F4 = np.float32(math.pi)


def power(x: Value, y: Value) -> Value:
    """C's pow; vector code shows no conditions of its own, and telling them apart costs more than
    finding them."""
    result = x.binary("pow", y)
    return flag(result, is_finite(x) & ~is_finite(result), OVERFLOW | INVALID | DIVIDE)


def nextafter_half(x: Value, y: Value) -> Value:
    """`nextafter` on f2 bits: comparisons in f4, steps in i2.
    Equal operands give the first until NumPy 2.5 (npy_half_nextafter)."""
    wide_x, wide_y = cast(x, "f4"), cast(y, "f4")
    bits = bitcast(x, "i2")
    away = (wide_x < wide_y) ^ (wide_x < 0)
    stepped = bitcast(bits + select(away, bits.lift(1), -1), "f2")
    sign_of_y = bitcast(y, "i2") & -0x8000
    smallest = bitcast(sign_of_y | 1, "f2")
    moved = select(wide_x.eq(0), smallest, stepped)
    undefined = is_nan(wide_x) | is_nan(wide_y)
    nan = cast(wide_x + wide_y, "f2")
    equal = y if NUMPY >= (2, 5) else x
    found = cast(select(undefined, nan, select(wide_x.eq(wide_y), equal, moved)), "f4")
    return cast(flag(found, is_inf(found) & is_finite(wide_x), OVERFLOW), "f2")
