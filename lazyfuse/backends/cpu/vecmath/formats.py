"""What vector math must know about float32 and float64: layout of the bits, and constants split
into parts.

Constants are given once, as decimal text of about 60 digits, and split here by exact rational
arithmetic, so no rounded constant is typed by hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

PI = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
LN2 = "0.693147180559945309417232121458176568075500134360255254120680009493393621969694716"
LN10 = "2.30258509299404568401799145468436420760110148862877297603332790096757260967735248"

Parts = tuple[float, ...]


def round_to(value: Fraction, dtype: str) -> float:
    """The nearest float of `dtype`."""
    return float(np.dtype(dtype).type(float(value)))


def split(value: Fraction, dtype: str, count: int) -> Parts:
    """`value` as an unevaluated sum of `count` floats, each the nearest to what is left."""
    parts: list[float] = []
    for _ in range(count):
        parts.append(round_to(value, dtype))
        value -= Fraction(parts[-1])
    return tuple(parts)


def split_short(value: Fraction, dtype: str, bits: int) -> Parts:
    """`value` in (0.5, 1) as a head of at most `bits` bits and the nearest float to the rest."""
    head = Fraction(round(value * 2**bits), 2**bits)
    return (float(head), round_to(value - head, dtype))


def _split_below(value: Fraction, dtype: str, mantissa: int) -> Parts:
    """`value` in [1, 2) as the largest float that is not above it, and two for the rest."""
    first = Fraction(math.floor(value * 2**mantissa), 2**mantissa)
    return (float(first), *split(value - first, dtype, 2))


@dataclass(frozen=True, slots=True)
class Format:
    """One binary float format. `shift` is 1.5 * 2**mantissa: adding it rounds to an integer in the
    low bits.
    """

    dtype: str
    signed: str
    unsigned: str
    mantissa: int
    bias: int
    exp_low: float  # exp, sinh and so on are 0, -1 or infinite beyond these
    exp_high: float
    minus_one: float  # expm1 is -1 below
    tanh_high: float  # tanh is 1 above
    trig_limit: float  # beyond, sin and cos go to libm
    pi: Parts
    half_pi: Parts
    half_pi_parts: Parts  # of the reduction; the first one is below, so 0 times the second is 0
    quarter_pi: Parts
    ln2: Parts
    ln2_short: Parts  # the head times any exponent is exact
    log2_e: Parts
    log10_e: Parts
    log10_2: Parts  # as ln2_short

    @property
    def shift(self) -> float:
        return 1.5 * 2.0**self.mantissa

    @property
    def min_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def epsilon(self) -> float:
        return 2.0**-self.mantissa

    @property
    def one_bits(self) -> int:
        return self.bias << self.mantissa


def _format(dtype: str, mantissa: int, bias: int, limits: Mapping[str, float]) -> Format:
    pi, ln2, ln10 = Fraction(PI), Fraction(LN2), Fraction(LN10)
    bits = mantissa - bias.bit_length() - 2  # such a head times an exponent is exact
    return Format(
        dtype=dtype,
        signed=f"i{dtype[1:]}",
        unsigned=f"u{dtype[1:]}",
        mantissa=mantissa,
        bias=bias,
        pi=split(pi, dtype, 2),
        half_pi=split(pi / 2, dtype, 2),
        half_pi_parts=_split_below(pi / 2, dtype, mantissa),
        quarter_pi=split(pi / 4, dtype, 2),
        ln2=split(ln2, dtype, 2),
        ln2_short=split_short(ln2, dtype, bits),
        log2_e=split(1 / ln2, dtype, 2),
        log10_e=split(1 / ln10, dtype, 2),
        log10_2=split_short(ln2 / ln10, dtype, bits),
        **limits,
    )


_LIMITS_F4 = {
    "exp_low": -104.0,
    "exp_high": 89.5,
    "minus_one": -18.0,
    "tanh_high": 10.0,
    "trig_limit": 2.0**16,
}
_LIMITS_F8 = {
    "exp_low": -746.0,
    "exp_high": 710.6,
    "minus_one": -40.0,
    "tanh_high": 20.0,
    "trig_limit": 2.0**30,
}
FORMATS: Mapping[str, Format] = {
    "f4": _format("f4", 23, 127, _LIMITS_F4),
    "f8": _format("f8", 52, 1023, _LIMITS_F8),
}
