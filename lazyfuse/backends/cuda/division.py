"""Division of positions by an extent, as a multiplication: GPUs have no instruction for it, and a
64-bit quotient takes a hundred of them.

    n // d == (2 * n * multiplier >> bits) >> shift        for 0 <= n < 2**(bits - 1), d > 0

with shift = ceil(log2(d)) and multiplier = ceil(2**(bits - 1 + shift) / d), which `magic` computes
at the launch and the kernel uses (`lf_divide` of the prelude).

Why: let p = 2**(bits - 1 + shift) and multiplier * d = p + e with 0 <= e < d <= 2**shift. Then
n * multiplier / p = n / d + n * e / (d * p), and n * e < 2**(bits - 1) * 2**shift = p, so that
what is added is less than 1 / d: the quotient stays the same. The multiplier fits in `bits` bits,
since d > 2**(shift - 1).

Source: T. Granlund, P. Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994.
"""

from __future__ import annotations

from typing import NamedTuple

#: Bits of positions, by the index type of a kernel.
BITS = {"i4": 32, "i8": 64}


class Magic(NamedTuple):
    """What divides by one divisor; see the module."""

    multiplier: int
    shift: int


def magic(divisor: int, index: str) -> Magic:
    """The numbers that divide positions of an index type by `divisor`, which is below half of its
    range; zeros for 0, by which nothing is divided."""
    if divisor == 0:
        return Magic(0, 0)
    shift = (divisor - 1).bit_length()
    power = 1 << BITS[index] - 1 + shift
    return Magic(-(-power // divisor), shift)


def as_signed(multiplier: int) -> int:
    """The same 64 bits as a signed integer, as which all parameters travel."""
    return multiplier - (1 << 64) if multiplier >> 63 else multiplier
