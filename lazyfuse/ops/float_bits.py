"""Conversions that depend on the bits of IEEE floats:
to integers, to half, and their integer twins."""

from __future__ import annotations

from lazyfuse.ops.body import Value, bitcast, cast, flag, select, truncate
from lazyfuse.ops.float_flags import INVALID

MANTISSA_BITS = {"f2": 10, "f4": 23, "f8": 52}


def int_twin(dtype: str) -> str:
    """The signed integer of the same width."""
    return f"i{dtype[1:]}"


def float_to_int(x: Value, dtype: str) -> Value:
    """Truncate towards zero. Out of range it does what NumPy's loops do on x86-64: signed 32 and
    64 bits give the smallest value, narrower types keep the low bits of the 32-bit result, u4 and
    u8 convert x - 2**(bits-1) above the signed range."""
    width = 8 * int(dtype[1:])
    if width < 32:
        return cast(truncate(x, "i4"), dtype)
    if dtype[0] == "i":
        return truncate(x, dtype)
    half = 2.0 ** (width - 1)
    large = x >= half
    signed = truncate(select(large, x - half, x), int_twin(dtype))
    flip = select(large, signed.lift(-(1 << (width - 1))), 0)
    return bitcast(signed ^ flip, dtype)


def truncated(x: Value, dtype: str) -> Value:
    """The primitive `truncate` in other ones, for devices that have no instruction for it."""
    width = 8 * int(dtype[1:])
    limit = 2.0 ** (width - 1)
    # f8 values in (-2**31 - 1, -2**31) truncate into i4; f4 and i8 have none between
    above = x > -limit - 1.0 if (x.dtype, width) == ("f8", 32) else x >= -limit
    fits = above & (x < limit)
    converted = cast(select(fits, x, 0.0), dtype)
    return flag(select(fits, converted, -(1 << (width - 1))), ~fits, INVALID)


def double_to_half(x: Value) -> Value:
    """Round once: to f4 with the last bit sticky (round to odd),
    then to f2 (Boldo and Melquiond, 2008)."""
    nearest = cast(x, "f4")
    back = cast(nearest, "f8")
    bits = bitcast(nearest, "i4")
    too_far = back.unary("abs") > x.unary("abs")
    truncated = select(too_far, bits - 1, bits)
    odd = select(back.ne(x) & x.eq(x), truncated | 1, bits)
    return cast(bitcast(odd, "f4"), "f2")
